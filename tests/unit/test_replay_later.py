"""The controller on answers that hardly any of it was chosen by: the bench's own prompts, greedy.

Counts only, of five kinds. Recorded as by
`edgespec bench --record FILE --suite chat,code-edit,summary,json,code --temp 0 -n 160`.
"""

from functools import cache
from pathlib import Path

import pytest

from edgespec.control.costs import Measured
from edgespec.replay.curves import AMX, CUDA, FLAT, METAL
from edgespec.replay.table import AUTO, Result, compare
from edgespec.replay.trace import read

RECORDING = read(Path(__file__).parents[1] / "data" / "traces" / "qwen-greedy.json.gz")
CURVES: dict[str, Measured] = {
    "here": RECORDING.costs,
    "AMX": AMX,
    "CUDA": CUDA,
    "METAL": METAL,
    "FLAT": FLAT,
}


@cache
def result(curve: str) -> Result:
    return compare(RECORDING.traces, CURVES[curve])


@pytest.mark.parametrize("curve", CURVES)
def test_controller_reaches_95_percent_of_the_best_rule_chosen_with_hindsight(curve: str) -> None:
    assert result(curve).of_best_static >= 0.95


@pytest.mark.parametrize("curve", CURVES)
def test_controller_is_above_every_fixed_length_and_heuristic(curve: str) -> None:
    found = result(curve)

    assert found.mean(AUTO) > found.mean(found.rivals[0])


@pytest.mark.parametrize(
    ("curve", "of_clairvoyant"),
    [("here", 0.85), ("AMX", 0.85), ("CUDA", 0.70), ("METAL", 0.65), ("FLAT", 0.70)],
)
def test_controller_keeps_its_share_of_a_clairvoyant(curve: str, of_clairvoyant: float) -> None:
    assert result(curve).of_clairvoyant >= of_clairvoyant


@pytest.mark.parametrize(
    ("curve", "of_odds"),
    [("here", 0.97), ("AMX", 0.97), ("CUDA", 0.92), ("METAL", 0.86), ("FLAT", 0.92)],
)
def test_controller_nearly_has_what_who_knows_the_odds_has(curve: str, of_odds: float) -> None:
    """Who also knows which guesses spare a draft model its passes."""
    assert result(curve).of_odds >= of_odds
