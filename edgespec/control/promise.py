"""What asking a draft model promises: by how sure it may turn out, the best length from there on.

Lengths are sought seldom and priced at every step: the best one is flat around its top, so that of
a few steps ago promises nearly as much, and never more than there is.
"""

from collections.abc import Sequence
from typing import NamedTuple

from edgespec.control.situation import Situation, best_length

_KEPT = 8
"""Times that lengths are priced before they are sought again,"""
_WORTH_KEPT = 0.1
"""or until time is worth so much more or less."""


class Promise(NamedTuple):
    """Of one draft."""

    gain: float
    """Tokens beyond a plain step's, less what its time is worth."""
    tokens: float
    """Expected, the target's own included."""
    cost: float
    """In plain steps."""


class Promises:
    """Of one draft model within one answer."""

    def __init__(self, n_kinds: int) -> None:
        """`n_kinds`: of sureness; rates are by kind, then by the kind of the token before."""
        self._n_kinds = n_kinds
        self._lengths: list[int] = []
        self._longest = 0
        self._worth = 0.0
        self._kept = 0

    def lately(
        self, at: Situation, most: int, rates: Sequence[float], shares: Sequence[float]
    ) -> Promise:
        """Asking it once, and going on for at most `most` tokens where its answer is worth it."""
        is_near = abs(at.worth - self._worth) <= _WORTH_KEPT * self._worth
        if not (is_near and self._kept and self._longest <= most):
            self._lengths = lengths(at, most, rates, self._n_kinds)
            self._longest, self._worth, self._kept = max(self._lengths), at.worth, _KEPT
        self._kept -= 1
        return priced(at, self._lengths, rates, shares)

    def best(
        self, at: Situation, most: int, rates: Sequence[float], shares: Sequence[float]
    ) -> Promise:
        """The same, of lengths that are sought now."""
        return priced(at, lengths(at, most, rates, self._n_kinds), rates, shares)


def lengths(at: Situation, most: int, rates: Sequence[float], n_kinds: int) -> list[int]:
    """By kind of the first token, how many are worth it."""
    return [best_length(at, most, rates[i], rates[n_kinds + i]).k for i in range(n_kinds)]


def priced(
    at: Situation, chosen: Sequence[int], rates: Sequence[float], shares: Sequence[float]
) -> Promise:
    """These lengths, by how often the model is how sure."""
    relative, token_cost, n = at.relative, at.token_cost, len(chosen)
    tokens, cost = 1.0, 1.0 + token_cost
    for kind, (k, share) in enumerate(zip(chosen, shares, strict=True)):
        if k:
            then = rates[n + kind]
            tokens += share * rates[kind] * (1 - then**k) / (1 - then)
            cost += share * (relative[k + 1] - 1 + (k - 1) * token_cost)
    return Promise(tokens - 1 - at.worth * (cost - 1), tokens, cost)
