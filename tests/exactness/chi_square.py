"""Pearson's chi-square test, for counts of discrete outcomes."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

Outcome = TypeVar("Outcome", bound=Hashable)


def p_value(counts: Counter[Outcome], law: Mapping[Outcome, float]) -> float:
    """How likely counts at least this far from `law` are; 0 for an impossible outcome.

    Outcomes expected fewer than 5 times are counted together.
    """
    n = counts.total()
    if not counts.keys() <= law.keys():
        return 0.0
    common = {outcome: n * p for outcome, p in law.items() if n * p >= 5}
    cells = [(counts[outcome], expected) for outcome, expected in common.items()]
    rest = n - sum(common.values())
    if rest >= 5:
        cells.append((n - sum(seen for seen, _ in cells), rest))
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    return upper_tail(statistic, len(cells) - 1)


def upper_tail(x: float, n_free: int) -> float:
    """P(χ² with `n_free` degrees of freedom > x): 1 - the series of the incomplete gamma."""
    a, half = n_free / 2, x / 2
    if half == 0:
        return 1.0
    term = total = 1 / a
    n = a
    while term > 1e-17 * total:
        n += 1
        term *= half / n
        total += term
    return max(0.0, 1 - total * math.exp(a * math.log(half) - half - math.lgamma(a)))
