#!/usr/bin/env python3
"""The benchmark proves itself on a real model and a real clock, where noise is what it is.

    python tests/bench_proof.py                 # SmolLM2-135M, 20 repeats, about six minutes
    python tests/bench_proof.py MODEL REPEATS

Two arms decode plainly, so that they differ by noise alone; from the same runs the second is then
made 5 % slower, and one of its tokens another one. Wants a quiet machine; exits with 1 if less is
found than 95 % intervals promise. `tests/unit/test_bench_proof.py` asks the same of played noise.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from edgespec.bench.energy import unmeasured
from edgespec.bench.engine import PLAIN, Ask, Run
from edgespec.bench.field import Field
from edgespec.bench.intervals import Interval
from edgespec.bench.measure import Cell, Plan, measure
from edgespec.bench.ours import OurEngine
from edgespec.bench.rig import Rig
from edgespec.bench.score import scores
from edgespec.bench.suite import prompts
from edgespec.bench.total import totals

TWIN = "twin"
PLAIN_OF = {PLAIN: PLAIN, TWIN: PLAIN}
SLOWER = 1.05
CHANGED_AT = 7
N_TOKENS = 24
N_PROMPTS = 8


class Twins(OurEngine):
    """Plain decoding under two names."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig, (), unmeasured)
        self.arms = (PLAIN, TWIN)

    def answer(self, arm: str, ask: Ask) -> Run:
        """Answer plainly, whatever it is called."""
        return replace(super().answer(PLAIN, ask), arm=arm)


def main(model: str, n_repeats: int) -> int:
    """Measure and judge."""
    rig = Rig.load(model, None, None, lambda phase, share: None)
    try:
        repeats = [_measured(rig, seed) for seed in range(n_repeats)]
    finally:
        rig.close()
    same = [_interval(cells) for cells in repeats]
    slow = [_interval(_with_twin(cells, _slower)) for cells in repeats]
    n_same = sum(1.0 in found for found in same)
    n_found = sum(found.high < 1 for found in slow)
    n_right = sum(1 / SLOWER in found for found in slow)
    n_changed = sum(_finds_the_token(_with_twin(cells, _changed)) for cells in repeats)
    width = sum(found.high / found.low - 1 for found in same) / n_repeats / 2
    print(f"two identical arms within their interval: {n_same} of {n_repeats}")
    print(f"intervals are +-{width:.1%} on average")
    print(f"5 % slower is found to be slower: {n_found} of {n_repeats}")
    print(f"and the interval holds the truth: {n_right} of {n_repeats}")
    print(f"one changed token is found on every prompt: {n_changed} of {n_repeats}")
    least = (19 * n_repeats) // 20
    return int(min(n_same, n_found, n_right) < least or n_changed < n_repeats)


def _measured(rig: Rig, seed: int) -> tuple[Cell, ...]:
    plan = Plan(prompts("short")[:N_PROMPTS], (TWIN,), (0.0,), N_TOKENS, seed=seed)
    cells = {cell.prompt: cell for cell in measure(Field([Twins(rig)]), plan)}
    print(f"repeat {seed + 1}", file=sys.stderr)
    return tuple(cells.values())


def _interval(cells: Sequence[Cell]) -> Interval:
    """Of the twin's ratio over all prompts."""
    scored = scores(cells, PLAIN_OF, lambda arm: False)
    (found,) = [total.interval for total in totals(cells, scored) if total.arm == TWIN]
    assert found is not None, "every prompt has two turns"
    return found


def _finds_the_token(cells: Sequence[Cell]) -> bool:
    scored = scores(cells, PLAIN_OF, lambda arm: False)
    return {s.differs_at for s in scored if s.arm == TWIN} == {CHANGED_AT}


def _with_twin(cells: Sequence[Cell], change: Callable[[Run], Run]) -> list[Cell]:
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


def _slower(run: Run) -> Run:
    return replace(run, wall_s=SLOWER * run.wall_s)


def _changed(run: Run) -> Run:
    tokens = list(run.tokens)
    tokens[CHANGED_AT] += 1
    return replace(run, tokens=tuple(tokens))


if __name__ == "__main__":
    _, *said = sys.argv
    sys.exit(main(said[0] if said else "smollm2-135m", int(said[1]) if said[1:] else 20))
