"""The promise that drafting never costs more than a little, kept by bookkeeping.

For every beginning of an answer: time <= (1 + SHARE) * plain + head start, as far as plain steps
cost what they are said to and no pass costs over `_MARGIN` times what was foreseen. Same idea as
conservative bandits (Wu et al. 2016). All amounts are in plain steps.
"""

from collections.abc import Sequence

SHARE = 0.01
_LEAST, _MOST = 2.5, 8.0
"""Tries: what two failed drafts of the first size that is worth anything lose. The head start is
twice that, half of it in reserve."""
_WORTH = 1.5
"""Rows over cost from which on a pass is worth drafting for, all of it being right."""
_SHORT_ANSWER = 64
_SHORT_HEAD_START = 1.5
_DEEPEST = 32.0
"""Most that a good start may save up for a long slump: within any stretch of an answer, not only
from its beginning, the loss is bounded by head start and this."""
_MARGIN = 1.15


class Ledger:
    """Time lost so far against plain decoding, less what is granted."""

    def __init__(self, relative: Sequence[float], max_tokens: int | None = None) -> None:
        """`relative`: costs of passes by rows; `max_tokens`: the answer's limit, if it has one."""
        worthwhile = (cost for n, cost in enumerate(relative) if n > 1 and n >= _WORTH * cost)
        lost = 2 * (next(worthwhile, 1.0) - 1)
        tries = min(max(lost, _LEAST), _MOST)
        self._reserve = tries
        """Kept back for drafts that nearly always come true: else a few early tries that failed
        would forbid all of an answer's copies."""
        if max_tokens is not None and max_tokens < _SHORT_ANSWER:
            tries, self._reserve = _SHORT_HEAD_START, 0.0
        self.head_start = tries + self._reserve
        self.balance = 0.0

    def most(self, *, is_sure: bool = False) -> float:
        """The dearest step that is permitted now, as foreseen; `is_sure`: out of the reserve."""
        reserve = 0.0 if is_sure else self._reserve
        return (1 + self.head_start - reserve - self.balance) / _MARGIN

    def permits(self, cost: float) -> bool:
        """Whether a step that is foreseen to cost this much keeps the promise."""
        return cost <= self.most()

    def add(self, cost: float, n_tokens: int) -> None:
        """A step cost this much and gave `n_tokens`."""
        self.balance = max(-_DEEPEST, self.balance + cost - n_tokens * (1 + SHARE))
