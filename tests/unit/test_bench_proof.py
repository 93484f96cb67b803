"""The harness proves itself: it finds what was planted, and nothing where nothing was.

Engines play a script on a fake clock: 2 % of noise on every answer, and a machine that becomes a
fifth slower within the benchmark, which is worse than what a shared machine does.
"""

from edgespec.bench.compare import compared
from edgespec.bench.engine import PLAIN
from edgespec.bench.result import Result
from tests.unit.bench_world import FakeClock, ScriptedEngine, cells_of, plan_of, result_of

_PROMPTS = ("a", "b", "c", "d", "e", "f", "g", "h")
_TOKENS = 20
_DRIFT = 0.2 / (len(_PROMPTS) * 4 * _TOKENS * 0.05)
_REPEATS = 20


def measured(
    factor: float, seed: int, *, noise: float = 0.02, changed: dict[str, int] | None = None
) -> Result:
    """A benchmark of plain decoding and an arm that takes `factor` times as long."""
    engine = ScriptedEngine(
        FakeClock(),
        {PLAIN: 0.05, "suffix": 0.05 * factor},
        noise=noise,
        drift=_DRIFT,
        seed=seed,
        changed=changed or {},
    )
    plan = plan_of(*_PROMPTS, seed=seed)
    return result_of(cells_of(engine, plan), plan)


def total_of(result: Result) -> tuple[float, float]:
    """The interval of the arm's ratio over all prompts."""
    (total,) = [t for t in result.totals if t.arm == "suffix"]
    assert total.interval is not None
    return total.interval.low, total.interval.high


def test_identical_arms_differ_by_less_than_their_interval_in_19_of_20_repeats() -> None:
    bounds = [total_of(measured(1.0, seed)) for seed in range(_REPEATS)]

    assert sum(low <= 1 <= high for low, high in bounds) >= 19


def test_planted_slowdown_of_5_percent_is_found() -> None:
    bounds = [total_of(measured(1.05, seed)) for seed in range(_REPEATS)]

    assert sum(high < 1 for _, high in bounds) >= 19
    assert sum(low <= 1 / 1.05 <= high for low, high in bounds) >= 18


def test_compare_finds_no_change_between_two_runs_of_the_same() -> None:
    comparisons = [
        compared(measured(0.8, seed), measured(0.8, seed + 100)) for seed in range(2 * _REPEATS)
    ]

    # One in twenty is what 95 % mean: 2 of 40 are expected, more than 5 come once in sixty times.
    assert sum(any(c.is_real for c in found.totals) for found in comparisons) <= 5
    assert sum(bool(found.cells) for found in comparisons) <= 5
    assert all(not found.texts for found in comparisons)


def test_compare_finds_a_planted_slowdown_of_5_percent() -> None:
    comparisons = [
        compared(measured(0.8, seed), measured(0.8 * 1.05, seed + 100)) for seed in range(_REPEATS)
    ]

    changes = [change for found in comparisons for change in found.totals]
    assert sum(change.is_real and change.factor < 1 for change in changes) >= 19


def test_compare_finds_a_planted_change_of_one_token() -> None:
    before = measured(0.8, 1)
    after = measured(0.8, 2, changed={"suffix": 7})

    found = compared(before, after)

    assert {(text.prompt, text.arm, text.at) for text in found.texts} == {
        (name, "suffix", 7) for name in _PROMPTS
    }


def test_changed_token_is_found_within_one_run() -> None:
    scored = measured(0.8, 2, changed={"suffix": 7}).scores

    assert {s.differs_at for s in scored if s.arm == "suffix"} == {7}
    assert {s.differs_at for s in scored if s.arm == PLAIN} == {None}
