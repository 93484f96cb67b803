"""The controller on the bench's present prompts at temperatures 0, 0.7 and 1, of the real pair.

Counts only, of five kinds, up to 96 tokens; nothing was chosen by them. Recorded as by
`edgespec bench --record FILE --suite chat,short --temp 0 --temp 0.7 --temp 1 -n 96`, and so for
code-edit (the long one too), summary, json and code.
"""

from functools import cache
from pathlib import Path
from statistics import geometric_mean

import pytest

from edgespec.control.costs import Measured
from edgespec.replay.curves import AMX, AVX2, CUDA
from edgespec.replay.oracle import best_s
from edgespec.replay.passes import RETRIEVAL
from edgespec.replay.play import play, total_s
from edgespec.replay.policies import auto
from edgespec.replay.table import AUTO, Result, compare
from edgespec.replay.trace import read

FOLDER = Path(__file__).parents[1] / "data" / "traces"
TRACES = read(FOLDER / "qwen-sampled.json.gz").traces
EVERY = [
    trace
    for file in sorted(FOLDER.glob("*.json.gz"))
    for trace in read(file).traces
    if trace.paid  # the pair's: others were recorded for trees and windows
]
TEMPERATURES = (0.0, 0.7, 1.0)
MEASURED = {"AVX2": AVX2, "AMX": AMX}
CURVES: dict[str, Measured] = {**MEASURED, "CUDA": CUDA}


@cache
def result(curve: str) -> Result:
    return compare(TRACES, CURVES[curve])


def test_traces_are_of_every_kind_at_every_temperature() -> None:
    kinds = {(trace.prompt.rsplit("-", 1)[0], trace.temperature) for trace in TRACES}

    wanted = ("chat", "code-edit", "summary", "json", "code")
    assert kinds == {(kind, temperature) for kind in wanted for temperature in TEMPERATURES}
    assert all(trace.tokens is None for trace in TRACES)


@pytest.mark.parametrize(("curve", "share"), [("AVX2", 0.85), ("AMX", 0.83), ("CUDA", 0.69)])
def test_controller_keeps_its_share_of_a_clairvoyant(curve: str, share: float) -> None:
    assert result(curve).of_clairvoyant >= share


@pytest.mark.parametrize("curve", MEASURED)
def test_controller_reaches_85_percent_of_a_clairvoyant_over_all_recordings(curve: str) -> None:
    costs = MEASURED[curve]

    shares = [best_s(trace, costs) / total_s(play(trace, auto, costs)) for trace in EVERY]

    assert geometric_mean(shares) >= 0.85


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("curve", CURVES)
def test_controller_reaches_95_percent_of_the_best_rule_chosen_with_hindsight(
    curve: str, temperature: float
) -> None:
    assert result(curve).at(temperature).of_best_static >= 0.95


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("curve", CURVES)
def test_controller_is_above_every_fixed_length_and_heuristic(
    curve: str, temperature: float
) -> None:
    found = result(curve).at(temperature)

    assert found.mean(AUTO) > found.mean(found.rivals[0])


@pytest.mark.parametrize("curve", MEASURED)
def test_controller_loses_on_no_answer_more_than_2_percent(curve: str) -> None:
    assert min(result(curve).ratios[AUTO]) >= 0.98


def test_a_copy_that_the_draft_model_backs_comes_true() -> None:
    """Why a pass of the draft model over a copy is worth its rows, and why a judge of the first
    token brings nothing beside a cascade."""
    judged = [
        (is_drawn, proposal.accepted > 0)
        for trace in TRACES
        for proposal, is_drawn in zip(
            trace.free[RETRIEVAL], trace.paid["model"].backing[RETRIEVAL].is_drawn, strict=True
        )
        if proposal.buckets
    ]

    backed = [is_right for is_drawn, is_right in judged if is_drawn]
    others = [is_right for is_drawn, is_right in judged if not is_drawn]
    assert sum(backed) / len(backed) > 0.98
    assert sum(others) / len(others) < 0.06
