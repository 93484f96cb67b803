"""Two results side by side, in words."""

from dataclasses import replace

from edgespec.bench.compare import compared, lines
from edgespec.bench.engine import PLAIN
from edgespec.bench.result import Result
from tests.unit.bench_world import FakeClock, ScriptedEngine, cells_of, plan_of, result_of


def result(pace_s: float, plain_s: float = 0.05, *names: str, token: int | None = None) -> Result:
    changed = {} if token is None else {"suffix": token}
    engine = ScriptedEngine(
        FakeClock(), {PLAIN: plain_s, "suffix": pace_s}, noise=0.005, changed=changed
    )
    plan = plan_of(*(names or ("a", "b", "c", "d")))
    return result_of(cells_of(engine, plan), plan)


def told(before: Result, after: Result) -> str:
    return "\n".join(lines(compared(before, after)))


def test_slower_arm_is_told_with_its_factor() -> None:
    text = told(result(0.025), result(0.030))

    assert "all prompts, suffix at temperature 0: 2.00 -> 1.66 x plain, -16.7%" in text
    assert "SLOWER" in text
    assert "no speed-up changed" not in text


def test_slower_machine_is_no_slower_arm() -> None:
    text = told(result(0.025, 0.05), result(0.050, 0.10))

    assert "SLOWER, the machine or plain decoding itself" in text
    assert "no speed-up changed beyond noise" in text


def test_only_shared_prompts_are_compared() -> None:
    found = compared(result(0.025, 0.05, "a", "b", "c", "d"), result(0.025, 0.05, "c", "d", "e"))

    assert found.n_shared == 2


def test_nothing_in_common_is_said() -> None:
    assert "the two results have no prompt in common" in told(
        result(0.025, 0.05, "a"), result(0.025, 0.05, "b")
    )


def test_single_prompts_are_told_where_only_they_changed() -> None:
    before, after = result(0.025), result(0.025)
    slow = result(0.040)
    mixed = replace(after, cells=(slow.cells[0], *after.cells[1:]))

    changes = compared(before, mixed).cells

    assert [change.what for change in changes] == [slow.cells[0].prompt]


def test_changed_text_is_told_with_its_place() -> None:
    assert "a, suffix: another greedy text from token 8" in told(
        result(0.025), result(0.025, token=7)
    )


def test_other_settings_are_told_first() -> None:
    other = replace(result(0.025), commit="fedcba")

    first = told(result(0.025), other).splitlines()[0]

    assert first == "commit: 0123456789abcdef before, fedcba after"


def test_too_few_turns_cannot_tell() -> None:
    assert "too few turns to tell" in told(result(0.025, 0.05, "a"), result(0.04, 0.05, "a"))


def test_nothing_is_said_of_noise_that_nobody_knows() -> None:
    text = told(result(0.025, 0.05, "a"), result(0.025, 0.05, "a"))

    assert "no turn was repeated often enough to tell what is noise" in text
    assert "no speed-up changed" not in text


def test_texts_of_two_models_are_not_compared() -> None:
    other = result(0.025, token=7)
    other = replace(other, model={**other.model, "target_quant": "Q8_0"})

    text = told(result(0.025), other)

    assert text.splitlines()[0] == "target quant: Q4_K_M before, Q8_0 after"
    assert "the models differ, so their texts are not compared" in text
    assert "another greedy text" not in text
