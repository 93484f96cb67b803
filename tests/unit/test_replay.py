"""The controller on recorded answers of the Qwen pair, on paper: what it reaches, what it loses.

The traces hold no text: 8 prompts and a request for code, at temperatures 0, 0.7 and 1.
"""

import itertools
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.control.costs import LONGEST, Measured
from edgespec.control.ledger import SHARE, Ledger
from edgespec.costs import PassCosts
from edgespec.events import Step
from edgespec.replay.curves import AMX, AVX2, CUDA, FLAT, METAL
from edgespec.replay.oracle import best_s
from edgespec.replay.overhead import lines as lines_of_overhead
from edgespec.replay.overhead import overheads
from edgespec.replay.play import play, total_s
from edgespec.replay.policies import auto, fixed, heuristics, plain, static
from edgespec.replay.table import (
    AUTO,
    BEST_STATIC,
    CLAIRVOYANT,
    ODDS,
    Result,
    compare,
    lines,
    lines_by_curve,
    lines_by_temperature,
)
from edgespec.replay.trace import PaidTrace, Proposal, Trace, read

TRACES = read(Path(__file__).parents[1] / "data" / "traces" / "qwen.json.gz").traces
MEASURED = {"AVX2": AVX2, "AMX": AMX}
CURVES = {**MEASURED, "CUDA": CUDA, "METAL": METAL, "FLAT": FLAT}


@cache
def result(curve: str) -> Result:
    return compare(TRACES, CURVES[curve])


def test_traces_are_of_every_kind_at_every_temperature() -> None:
    kinds = {trace.prompt.removesuffix("-long").removesuffix("-short") for trace in TRACES}

    assert kinds == {"chat", "code-edit", "summary", "json", "code"}
    assert {trace.temperature for trace in TRACES} == {0, 0.7, 1}
    assert all(trace.tokens is None for trace in TRACES)


@pytest.mark.parametrize("curve", MEASURED)
def test_controller_reaches_85_percent_of_a_clairvoyant_on_measured_curves(curve: str) -> None:
    assert result(curve).of_clairvoyant >= 0.85


@pytest.mark.parametrize(
    ("curve", "of_clairvoyant", "of_odds"),
    [("CUDA", 0.70, 0.92), ("METAL", 0.65, 0.87), ("FLAT", 0.66, 0.89)],
)
def test_controller_keeps_its_share_of_what_can_be_known_on_assumed_curves(
    curve: str, of_clairvoyant: float, of_odds: float
) -> None:
    """Where a draft token costs an eighth of a step, a clairvoyant that knows where a draft model
    errs gains what nobody else can: who knows all odds and no outcome reaches 0.73 to 0.75."""
    found = result(curve)

    assert found.of_clairvoyant >= of_clairvoyant
    assert found.of_odds >= of_odds
    assert found.mean(ODDS) / found.mean(CLAIRVOYANT) < 0.78


@pytest.mark.parametrize("curve", CURVES)
def test_controller_reaches_95_percent_of_the_best_rule_chosen_with_hindsight(curve: str) -> None:
    assert result(curve).of_best_static >= 0.95


@pytest.mark.parametrize("curve", CURVES)
def test_controller_is_above_every_fixed_length_and_heuristic(curve: str) -> None:
    found = result(curve)

    assert found.mean(AUTO) > found.mean(found.rivals[0])


@pytest.mark.parametrize("curve", MEASURED)
def test_controller_loses_on_no_answer_more_than_2_percent(curve: str) -> None:
    found = result(curve)

    assert min(found.ratios[AUTO]) >= 0.98


@pytest.mark.parametrize("curve", CURVES)
def test_nobody_is_faster_than_the_clairvoyant(curve: str) -> None:
    found = result(curve)

    for name in (ODDS, AUTO, BEST_STATIC, *found.rivals):
        pairs = zip(found.ratios[name], found.ratios[CLAIRVOYANT], strict=True)
        assert all(mine <= best + 1e-9 for mine, best in pairs), name


def test_replays_are_deterministic() -> None:
    assert [play(trace, auto, AVX2) for trace in TRACES[:3]] == [
        play(trace, auto, AVX2) for trace in TRACES[:3]
    ]


def test_table_names_what_was_compared() -> None:
    text = "\n".join(lines(result("AVX2")))

    assert "a  clairvoyant" in text
    assert "d  auto" in text
    assert "geometric mean" in text
    assert all(name in text for name in (*static(TRACES[0]), *heuristics(TRACES[0])))
    assert f"auto reaches {result('AVX2').of_clairvoyant:.1%} of the clairvoyant" in text


def test_curves_stand_below_each_other_with_the_best_other_rule() -> None:
    head, first, second = lines_by_curve({name: result(name) for name in ("AVX2", "CUDA")})

    assert head.split() == [*"abcd", "d/a", "d/b", "d/c", "best", "of", "the", "others"]
    assert first.startswith(f"AVX2  {result('AVX2').mean(CLAIRVOYANT):5.2f}")
    assert second.endswith(f"{result('CUDA').mean('cascade 7'):.2f} cascade 7")


def test_temperatures_are_compared_apart_where_there_are_several() -> None:
    text = list(lines_by_temperature({"AVX2": result("AVX2")}))

    assert [line for line in text if line.startswith("at temperature")] == [
        f"at temperature {t}" for t in ("0", "0.7", "1")
    ]
    assert list(lines_by_temperature({"AVX2": result("AVX2").at(0.7)})) == []


def test_a_temperature_has_its_own_traces() -> None:
    found = result("AVX2").at(0.7)

    assert all(name.endswith("at 0.7") for name in found.traces)
    assert len(found.traces) == len(found.ratios[AUTO]) > 0


def made(accepted: list[int], *, likely: bool = True, model: list[bool] | None = None) -> Trace:
    """An answer on which a copy of 63 likely tokens is accepted so far at each position."""
    n = len(accepted)
    bucket = 3 if likely else 0
    proposals = tuple(
        Proposal((bucket,) * LONGEST, min(a, n - at)) for at, a in enumerate(accepted)
    )
    paid = {} if model is None else {"model": PaidTrace(tuple(model), (0.99,) * n, {})}
    return Trace("made", 0.0, 50, n, {"suffix": proposals}, paid)


def assert_bounded(steps: list[Step], costs: Measured) -> None:
    """At every prefix: time <= (1 + share) * plain + head start."""
    plain_s = costs.target.plain_s
    head_start = Ledger(costs.live().target.relative).head_start
    took = itertools.accumulate(step.step_s for step in steps)
    tokens = itertools.accumulate(len(step.tokens) for step in steps)
    for took_s, n in zip(took, tokens, strict=True):
        assert took_s <= ((1 + SHARE) * n + head_start) * plain_s * (1 + 1e-9)


REGIMES = st.lists(
    st.tuples(st.sampled_from([0, 0, 1, 3, 20, 63]), st.integers(1, 60)), min_size=1, max_size=8
).map(lambda parts: [accepted for accepted, n in parts for _ in range(n)])


@pytest.mark.parametrize("curve", CURVES)
@settings(max_examples=25, deadline=None)
@given(REGIMES, st.lists(st.booleans(), min_size=480, max_size=480))
def test_bound_holds_at_every_prefix_when_the_regime_switches(
    curve: str, accepted: list[int], model: list[bool]
) -> None:
    trace = made(accepted, model=model[: len(accepted)])

    assert_bounded(play(trace, auto, CURVES[curve]), CURVES[curve])


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    "accepted",
    [[0] * 600, [0, 63] * 300, [63] * 200 + [0] * 400, ([20] * 10 + [0] * 50) * 10],
    ids=["all refused", "alternating", "good, then bad", "mostly bad"],
)
def test_bound_holds_at_every_prefix_of_adversarial_answers(
    curve: str, accepted: list[int]
) -> None:
    trace = made(accepted, model=[a > 0 for a in accepted])

    assert_bounded(play(trace, auto, CURVES[curve]), CURVES[curve])


def test_drafting_is_off_on_a_hostile_curve() -> None:
    hostile = Measured(PassCosts((1, 2, 64), (1.0, 2.2, 140.8)))
    steps = play(made([63] * 200), auto, hostile)

    assert all(step.drafted == 0 for step in steps)


def test_random_text_costs_little() -> None:
    """Adversarial text at most 1.3 times plain (llama.cpp #23268): here 1 % and a head start."""
    trace = made([0] * 300)

    steps = play(trace, auto, AVX2)

    assert total_s(steps) <= 1.02 * 300 * AVX2.target.plain_s
    assert sum(step.drafted for step in steps[-150:]) == 0


def test_lengths_follow_what_is_accepted() -> None:
    """k grows only with acceptance (text-generation-inference #2997)."""
    good, bad = (play(made([a] * 120), auto, CUDA) for a in (63, 0))

    assert max(step.drafted for step in good) > 15
    assert all(step.drafted == 0 for step in bad[-20:])


def test_plain_takes_a_plain_step_for_each_token() -> None:
    assert total_s(play(made([63] * 40), plain, CUDA)) == pytest.approx(40)


def test_a_fixed_length_pays_for_every_row() -> None:
    steps = play(made([0] * 10), fixed("suffix", 3), CUDA)

    assert [step.drafted for step in steps] == [3, 3, 3, 3, 3, 3, 3, 2, 1, 0]
    assert steps[0].step_s == pytest.approx(1.28)


def test_a_draft_model_pays_for_its_passes_and_for_reading() -> None:
    steps = play(made([0] * 10, model=[True] * 10), fixed("model", 3), CUDA)

    assert steps[0].step_s == pytest.approx(1.28 + 3 * 0.12 + 49 * 0.002)
    assert [step.accepted for step in steps] == [3, 3, 1]


def test_clairvoyant_finds_the_least_time() -> None:
    trace = made([3, 0, 0, 0, 1, 0])

    # 4 rows for 4 tokens, 2 rows for 2.
    assert best_s(trace, CUDA) == pytest.approx(1.28 + 1.07)


def test_clairvoyant_reads_for_a_draft_model_where_that_pays() -> None:
    trace = made([0] * 40, model=[True] * 40)

    assert best_s(trace, CUDA) < 20
    assert best_s(trace, AVX2) == pytest.approx(40 * AVX2.target.plain_s)


def test_every_policy_emits_the_whole_answer() -> None:
    trace = TRACES[0]

    for policy in (auto, plain, *heuristics(trace).values(), *static(trace).values()):
        assert sum(len(step.tokens) for step in play(trace, policy, AMX)) == trace.n_tokens


def test_controllers_own_cost_is_counted_once_per_step() -> None:
    ticks = itertools.count()

    took = overheads(TRACES[:1], MEASURED, n_rounds=2, clock=lambda: float(next(ticks)))

    for name, costs in MEASURED.items():
        assert took[name] == (2.0, 2.0, 2 * len(play(TRACES[0], auto, costs)))
    assert [line.split()[0] for line in list(lines_of_overhead(took))[2:]] == list(MEASURED)
