"""The harness proves itself: it finds what was planted, and nothing where nothing was.

Engines play a script on a fake clock: 2 % of noise on every answer, and a machine that becomes a
fifth slower within the benchmark; or 6 %, and a machine that others slow down for minutes.
"""

from dataclasses import replace
from functools import cache
from statistics import fmean

from edgespec.bench.compare import compared
from edgespec.bench.engine import PLAIN, Run
from edgespec.bench.measure import Cell
from edgespec.bench.result import Result
from edgespec.bench.score import scores
from edgespec.bench.total import totals
from tests.planted import TWIN, Judged, finds_the_token, judged, pools, with_twin
from tests.unit.bench_world import (
    FakeClock,
    ScriptedEngine,
    SlowPhases,
    cells_of,
    plan_of,
    result_of,
)

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


@cache
def twins_on_a_shared_machine() -> tuple[tuple[Cell, ...], ...]:
    """Repeats of plain decoding under two names, each about 45 s long."""
    found = []
    for seed in range(120):
        engine = ScriptedEngine(
            FakeClock(1000.0 * seed),
            {PLAIN: 0.05, TWIN: 0.05},
            noise=0.06,
            seed=seed,
            phases=SlowPhases(seed),
        )
        found.append(cells_of(engine, plan_of(*_PROMPTS, seed=seed)))
    return tuple(found)


@cache
def judged_by(n_pooled: int) -> Judged:
    return judged(pools(twins_on_a_shared_machine(), n_pooled))


def test_intervals_keep_their_promise_where_slow_phases_last_a_minute() -> None:
    found = judged_by(1)

    # 95 % of 120 are 114; the standard deviation is 2.4.
    assert found.n_same >= 109
    assert found.least <= found.n_found < 0.9 * found.n


def test_pooled_repeats_find_a_slowdown_that_a_single_one_often_misses() -> None:
    found = judged_by(4)

    assert found.n == 30
    assert found.n_same >= 26
    assert found.n_found >= max(found.least, 28)


def test_pooled_repeats_have_intervals_half_as_wide() -> None:
    single, longer = judged_by(1), judged_by(4)

    # Eight residuals know their own spread worse than 56, beside what four times the turns bring.
    assert 0.38 < longer.width / single.width < 0.5


def test_pool_has_all_turns_of_each_prompt() -> None:
    first, *_ = pools(twins_on_a_shared_machine(), 4)

    assert [cell.prompt for cell in first] == list(dict.fromkeys(cell.prompt for cell in first))
    assert {len(cell.turns) for cell in first} == {8}


def test_judge_sees_that_too_little_is_found() -> None:
    def faster(run: Run) -> Run:
        return replace(run, wall_s=0.96 * run.wall_s)

    longer = pools(twins_on_a_shared_machine(), 4)

    found = judged([with_twin(cells, faster) for cells in longer])

    assert found.n_found < found.least
    assert found.n_same < 15


def test_changed_token_is_found_among_twins() -> None:
    assert all(map(finds_the_token, twins_on_a_shared_machine()[:20]))


def of_many_arms(seed: int) -> tuple[Cell, ...]:
    """Twelve arms as fast as plain decoding, which turns of 15 s keep apart."""
    engine = ScriptedEngine(
        FakeClock(1000.0 * seed),
        dict.fromkeys((PLAIN, *_RIVALS), 0.05),
        noise=0.04,
        seed=seed,
        phases=SlowPhases(seed),
    )
    return cells_of(engine, plan_of(*_PROMPTS, arms=_RIVALS, seed=seed))


_RIVALS = tuple(f"suffix:{n}" for n in range(1, 13))


def with_one_plain_answer(cells: tuple[Cell, ...]) -> list[Cell]:
    """As if plain decoding had answered but once in each turn."""
    return [
        replace(
            cell,
            turns=tuple(
                tuple(r for r in turn if r.arm != PLAIN or r is plain_of(turn))
                for turn in cell.turns
            ),
        )
        for cell in cells
    ]


def plain_of(turn: tuple[Run, ...]) -> Run:
    return [run for run in turn if run.arm == PLAIN][1]


def test_plain_decoding_amid_its_rivals_makes_intervals_narrower_and_as_true() -> None:
    widths: dict[str, list[float]] = {"one": [], "several": []}
    n_true = dict.fromkeys(widths, 0)
    for seed in range(12):
        cells = of_many_arms(seed)
        for how, some in (("several", list(cells)), ("one", with_one_plain_answer(cells))):
            scored = scores(some, dict.fromkeys((PLAIN, *_RIVALS), PLAIN), lambda arm: False)
            for total in totals(some, scored)[1:]:
                assert total.interval is not None
                widths[how].append(total.interval.high / total.interval.low - 1)
                n_true[how] += 1 in total.interval

    assert fmean(widths["several"]) < 0.8 * fmean(widths["one"])
    # 95 % of 144 are 137; arms of a run share its plain answers, so they err together.
    assert n_true["several"] >= 129
