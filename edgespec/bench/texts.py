"""Greedy answers that are not plain decoding's, and whether rounding explains them."""

from collections.abc import Sequence

from edgespec.bench.engine import PLAIN
from edgespec.bench.measure import Cell, Plan
from edgespec.bench.rig import Rig
from edgespec.bench.score import Divergence
from edgespec.bench.suite import BenchPrompt
from edgespec.equality import Difference, explained


def divergences_of(rig: Rig, plan: Plan, cells: Sequence[Cell]) -> list[Divergence]:
    """Greedy answers that leave plain decoding's, each measured where it does."""
    by_name = {prompt.name: prompt for prompt in plan.prompts}
    found = []
    for cell in cells:
        if cell.temperature == 0:
            found += _of_cell(rig, cell, by_name[cell.prompt])
    return found


def _of_cell(rig: Rig, cell: Cell, prompt: BenchPrompt) -> list[Divergence]:
    plain = cell.runs(PLAIN)[0].tokens
    other = {(run.arm, run.tokens) for turn in cell.turns for run in turn if run.tokens}
    # Several arms often take the same turning.
    places: dict[tuple[int, ...], Difference | None] = {}
    found = []
    for arm, tokens in sorted(other):
        if tokens == plain:
            continue
        if tokens not in places:
            places[tokens] = explained(rig.target, rig.tokens_of(prompt), plain, tokens)
        difference = places[tokens]
        assert difference is not None, "the answers differ"
        texts = (rig.text(token) for token in (difference.plain, difference.other))
        found.append(Divergence(cell.prompt, arm, difference, *texts))
    return found
