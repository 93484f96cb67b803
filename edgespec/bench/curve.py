"""What a pass costs by its number of rows: the curve that draft lengths are chosen from."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from edgespec.core import Session, Tokens

ROWS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32)
DEPTH = 256
"""Tokens of context before the pass."""
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class PassCost:
    """One point of the curve."""

    n_rows: int
    ms: float
    """Median of 3, measured in turns with the other points."""


def pass_costs(session: Session, text: Tokens, rows: Sequence[int] = ROWS) -> list[PassCost]:
    """T(n) behind the first tokens of `text`; sizes that `session` cannot take are left out."""
    room = min(session.n_ctx, len(text))
    sizes = [n for n in rows if n <= session.max_logits and n < room]
    depth = min(DEPTH, room - max(sizes))
    took_ms: dict[int, list[float]] = {n: [] for n in sizes}
    for _ in range(1 + _REPEATS):  # the first warms up
        for n in sizes:
            session.forward(text[:depth], n_logits=0)
            began_s = perf_counter()
            session.forward(text[: depth + n], n_logits=n)
            took_ms[n].append(1e3 * (perf_counter() - began_s))
    return [PassCost(n, median(times[1:])) for n, times in took_ms.items()]
