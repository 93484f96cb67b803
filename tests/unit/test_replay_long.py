"""The controller on long prompts at temperatures 0.7 and 1, of the real pair; nothing was chosen by
them.

Counts only, of four kinds, 64 tokens each. Recorded as by
`edgespec bench --record FILE --suite chat,code,summary,json,long --temp 0.7 --temp 1 -n 64`.
"""

from functools import cache
from pathlib import Path

import pytest

from edgespec.control.costs import Measured
from edgespec.replay.curves import AMX, AVX2, CUDA, FLAT, METAL
from edgespec.replay.table import AUTO, Result, compare
from edgespec.replay.trace import read

TRACES = read(Path(__file__).parents[1] / "data" / "traces" / "qwen-long.json.gz").traces
MEASURED = {"AVX2": AVX2, "AMX": AMX}
CURVES: dict[str, Measured] = {**MEASURED, "CUDA": CUDA, "METAL": METAL, "FLAT": FLAT}


@cache
def result(curve: str) -> Result:
    return compare(TRACES, CURVES[curve])


def test_traces_are_of_long_prompts_at_two_temperatures() -> None:
    found = {(trace.prompt, trace.temperature) for trace in TRACES}

    kinds = ("chat", "code", "summary", "json")
    assert found == {(f"{kind}-long", t) for kind in kinds for t in (0.7, 1.0)}
    assert all(trace.tokens is None for trace in TRACES)


@pytest.mark.parametrize(
    ("curve", "share"),
    [("AVX2", 0.87), ("AMX", 0.85), ("CUDA", 0.68), ("METAL", 0.61), ("FLAT", 0.67)],
)
def test_controller_keeps_its_share_of_a_clairvoyant(curve: str, share: float) -> None:
    assert result(curve).of_clairvoyant >= share


@pytest.mark.parametrize(
    ("curve", "share"),
    [("AVX2", 0.99), ("AMX", 1.02), ("CUDA", 1.02), ("METAL", 0.94), ("FLAT", 0.99)],
)
def test_controller_keeps_its_share_of_the_best_rule_chosen_with_hindsight(
    curve: str, share: float
) -> None:
    assert result(curve).of_best_static >= share


@pytest.mark.parametrize("temperature", [0.7, 1.0])
@pytest.mark.parametrize("curve", CURVES)
def test_controller_is_above_every_fixed_length_and_heuristic(
    curve: str, temperature: float
) -> None:
    found = result(curve).at(temperature)

    assert found.mean(AUTO) > found.mean(found.rivals[0])


@pytest.mark.parametrize("curve", MEASURED)
def test_controller_loses_no_more_than_four_steps_of_a_short_answer(curve: str) -> None:
    """What trying costs does not grow with the answer, so in 64 tokens it is a larger share."""
    lost = [64 / times - 64 for times in result(curve).ratios[AUTO]]

    assert max(lost) <= 4
