"""How far to copy: the draft length with the best expected speed, from hits and costs.

Owns how often matches came true; knows no tokens. Every committed token tells whether what a
match proposed for it was right, drafted or not, so nothing has to be tried out.
"""

from edgespec.costs import RowCosts

_PRIORS = ((1, 0.2), (2, 0.4), (3, 0.55), (4, 0.65), (6, 0.75), (9, 0.85), (17, 0.93), (33, 0.97))
"""(shortest match, how often it comes true): what is believed before anything was seen."""
_PRIOR_WEIGHT = 4
_RECENCY = 0.06
"""Least weight of the newest observation: what came true in prose is forgotten in code."""
_LONGEST = _PRIORS[-1][0]
_CLASS_OF = tuple(
    max(i for i, (shortest, _) in enumerate(_PRIORS) if length >= shortest)
    for length in range(1, _LONGEST + 1)
)


class HitRates:
    """How often a match of each length class was continued as before, lately."""

    def __init__(self) -> None:
        self._rates = [rate for _, rate in _PRIORS]
        self._weights = [1 / (_PRIOR_WEIGHT + 1)] * len(_PRIORS)

    def observe(self, match: int, is_hit: bool) -> None:
        """A match of `match` tokens was continued as before, or was not."""
        at = _CLASS_OF[match - 1] if match < _LONGEST else -1
        weight = self._weights[at]
        self._rates[at] += weight * (is_hit - self._rates[at])
        if weight > _RECENCY:
            self._weights[at] = weight / (1 + weight)  # 1/5, 1/6, 1/7, …

    def rate(self, match: int) -> float:
        """Probability that the token after a match of `match` tokens is the one it proposes."""
        return self._rates[_CLASS_OF[match - 1] if match < _LONGEST else -1]


def best_length(match: int, rates: HitRates, costs: RowCosts, k: int) -> tuple[int, float]:
    """The draft length up to `k` with the most expected tokens per second, and that speed.

    0: plain decoding. The match grows with every accepted token. All lengths are looked at: on a
    curve with steps, a longer draft may pay where a shorter one does not.
    """
    best, best_speed = 0, 1 / costs.plain_s
    survives, expected = 1.0, 1.0
    for length in range(1, k + 1):
        survives *= rates.rate(match + length - 1)
        expected += survives
        speed = expected / costs.of(length + 1)
        if speed > best_speed:
            best, best_speed = length, speed
    return best, best_speed
