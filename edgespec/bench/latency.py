"""How evenly the tokens of an answer come, as somebody reading along sees it."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from edgespec.bench.engine import Run

_TOGETHER_S, _TOGETHER = 0.001, 0.1
"""A server tells the tokens of one pass one by one, faster than any model can make them: within a
millisecond, or a tenth of what a token takes in the answer's average, which no pass falls below.
Where it counts its passes, no more arrivals than those are told apart."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds per token after the first arrival."""

    median_ms: float
    p95_ms: float
    p99_ms: float
    worst_gap_ms: float
    """The longest wait for anything to appear: a burst of tokens makes up for none of it."""


def latency(runs: Iterable[Run]) -> Latency | None:
    """Of all runs together; None where nothing arrived after a first token.

    Tokens that arrive together share the wait before them.
    """
    per_token, gaps = token_gaps_ms(runs)
    if not gaps:
        return None
    median, p95, p99 = (float(x) for x in np.percentile(per_token, [50, 95, 99]))
    return Latency(median, p95, p99, max(gaps))


def token_gaps_ms(runs: Iterable[Run]) -> tuple[list[float], list[float]]:
    """The wait per token, token by token; and the waits between arrivals."""
    per_token: list[float] = []
    gaps: list[float] = []
    for run in runs:
        for gap_ms, n_tokens in _gaps(run):
            gaps.append(gap_ms)
            per_token += [gap_ms / n_tokens] * n_tokens
    return per_token, gaps


def _gaps(run: Run) -> Iterable[tuple[float, int]]:
    together_s = _together_s(run)
    bursts: list[tuple[float, int]] = []
    last_s = 0.0
    for at_s, n_tokens in run.arrivals:
        if bursts and at_s - last_s < together_s:
            bursts[-1] = (bursts[-1][0], bursts[-1][1] + n_tokens)
        elif n_tokens:
            bursts.append((at_s, n_tokens))
        last_s = at_s
    for (before_s, _), (at_s, n_tokens) in pairwise(bursts):
        yield 1e3 * (at_s - before_s), n_tokens


def _together_s(run: Run) -> float:
    """Tokens that arrive closer to each other than this are of one pass."""
    least_s = max(_TOGETHER_S, _TOGETHER * run.wall_s / max(run.n_tokens, 1))
    n_passes = run.stats.passes if run.stats else 0
    gaps_s = sorted((b - a for (a, _), (b, _) in pairwise(run.arrivals)), reverse=True)
    if not 1 < n_passes <= len(gaps_s):
        return least_s
    # So many passes have one gap less between them: the widest ones.
    return max(least_s, gaps_s[n_passes - 2])
