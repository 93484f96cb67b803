"""Differences planted in measured runs, and whether intervals find them as often as they promise.

Twins are two arms that decode alike: without a plant they differ by noise alone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean

from edgespec.bench.engine import PLAIN, Run
from edgespec.bench.intervals import LEVEL, Interval, widening
from edgespec.bench.measure import Cell
from edgespec.bench.score import scores
from edgespec.bench.total import totals

TWIN = "twin"
SLOWER = 1.05
CHANGED_AT = 7
_PLAIN_OF = {PLAIN: PLAIN, TWIN: PLAIN}
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True, slots=True)
class Judged:
    """Of several measurements of twins, how many told the truth about them."""

    n: int
    n_same: int
    """Held 1 for the twins as they are."""
    n_found: int
    """Called the one that was made 5 % slower slower."""
    promised: float
    """How many should, by the width of their intervals."""
    least: int
    """What is left of that when chance is unkind, as it is once in forty times."""
    width: float
    """Half of an interval, as a share, on average."""


def judged(measurements: Sequence[Sequence[Cell]]) -> Judged:
    """What the intervals over all prompts say of each measurement."""
    same = [twins_interval(cells) for cells in measurements]
    slow = [twins_interval(with_twin(cells, slower)) for cells in measurements]
    halves = [math.log(found.high / found.low) / 2 for found in same]
    powers = _powers(halves, sum(len(cell.turns) - 1 for cell in measurements[0]))
    chance = math.sqrt(sum(power * (1 - power) for power in powers))
    return Judged(
        len(measurements),
        n_same=sum(1.0 in found for found in same),
        n_found=sum(found.high < 1 for found in slow),
        promised=sum(powers),
        least=math.ceil(sum(powers) - _Z * chance),
        width=math.expm1(fmean(halves)),
    )


def _powers(halves: Sequence[float], df: int) -> list[float]:
    """How likely each interval, half as wide as told, is to find that a twin is slower."""
    sd = math.sqrt(fmean(half * half for half in halves)) / (_Z * widening(LEVEL, df))
    return [NormalDist().cdf((math.log(SLOWER) - half) / sd) for half in halves]


def pools(repeats: Sequence[Sequence[Cell]], n: int) -> list[list[Cell]]:
    """Each `n` repeats as one measurement, as more rounds of the benchmark would have given."""
    return [_pooled(repeats[i : i + n]) for i in range(0, len(repeats) - n + 1, n)]


def _pooled(repeats: Sequence[Sequence[Cell]]) -> list[Cell]:
    by_prompt: dict[str, list[Cell]] = {}
    for cell in (cell for cells in repeats for cell in cells):
        by_prompt.setdefault(cell.prompt, []).append(cell)
    return [
        replace(found[0], turns=tuple(turn for cell in found for turn in cell.turns))
        for found in by_prompt.values()
    ]


def twins_interval(cells: Sequence[Cell]) -> Interval:
    """Of the twin's ratio over all prompts."""
    scored = scores(cells, _PLAIN_OF, lambda arm: False)
    (found,) = [total.interval for total in totals(cells, scored) if total.arm == TWIN]
    assert found is not None, "every prompt has two turns"
    return found


def finds_the_token(cells: Sequence[Cell]) -> bool:
    """Whether a changed token is found on every prompt, and no other."""
    scored = scores(with_twin(cells, changed), _PLAIN_OF, lambda arm: False)
    return {s.differs_at for s in scored if s.arm == TWIN} == {CHANGED_AT}


def with_twin(cells: Sequence[Cell], change: Callable[[Run], Run]) -> list[Cell]:
    """The same runs, but for what is planted in the twin's."""
    return [
        replace(
            cell,
            turns=tuple(
                tuple(change(run) if run.arm == TWIN else run for run in turn)
                for turn in cell.turns
            ),
        )
        for cell in cells
    ]


def slower(run: Run) -> Run:
    """It took 5 % longer."""
    return replace(run, wall_s=SLOWER * run.wall_s)


def changed(run: Run) -> Run:
    """It said another token."""
    tokens = list(run.tokens)
    tokens[CHANGED_AT] += 1
    return replace(run, tokens=tuple(tokens))
