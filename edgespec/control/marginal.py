"""How far a draft model goes: on as long as the next tokens promise more than their time is worth.

Decided before each token is drawn, by the shape of its distribution alone (`core.Steering`).
"""

from collections.abc import Callable

from edgespec.control.acceptance import Acceptance
from edgespec.control.situation import Situation, best_length

_MEMORY = 0.97
"""What each token leaves of the older ones in the shares."""
_PRIOR_WEIGHT = 8.0


class Sureness:
    """How often a draft model is how sure: what asking it once will likely show."""

    def __init__(self, shares: tuple[float, ...]) -> None:
        self._weights = [_PRIOR_WEIGHT * share for share in shares]
        self._total = _PRIOR_WEIGHT

    def observe(self, bucket: int) -> None:
        """It was so sure of a token."""
        weights = [_MEMORY * weight for weight in self._weights]
        weights[bucket] += 1
        self._weights, self._total = weights, _MEMORY * self._total + 1

    @property
    def shares(self) -> list[float]:
        """By bucket: how often it is so sure; sums to 1."""
        total = self._total
        return [weight / total for weight in self._weights]


class Marginal:
    """Steers one draft."""

    def __init__(
        self,
        acceptance: Acceptance,
        sureness: Sureness,
        bucket_of: Callable[[float], int],
        at: Situation,
        k: int,
    ) -> None:
        """`k`: most tokens; exactly so many where the situation allows no other length."""
        self._acceptance = acceptance
        self._sureness = sureness
        self._bucket_of = bucket_of
        self._n_kinds = len(acceptance.buckets) // 2
        self._at = at
        self._k = k
        self._survives = 1.0
        self.buckets: list[int] = []
        """Of the tokens that were drawn."""
        self.n_passes = 0
        """Of the draft model; rows that it had computed by guesses count as much."""

    def asks(self) -> bool:
        """Whether one more token is worth a pass of the draft model."""
        if len(self.buckets) >= self._k:
            return False
        if self.buckets and not self._at.only:
            rate = self._acceptance.rates[self._n_kinds + self.buckets[-1]]
            if not self._promises(rate, rate, self._at.token_cost):
                return False
        return True

    def draws(self, confidence: float) -> bool:
        """Whether to draw it, the pass having shown how sure the draft model is."""
        self.n_passes += 1
        bucket, rates = self._bucket_of(confidence), self._acceptance.rates
        self._sureness.observe(bucket)
        rate = rates[bucket]
        if not self._at.only and not self._promises(rate, rates[self._n_kinds + bucket], 0.0):
            return False
        self.buckets.append(bucket)
        self._survives *= rate
        return True

    def kept(self, n_drawn: int) -> int:
        """How many tokens of a draft that was not sampled are worth their rows."""
        if self._at.only:
            return n_drawn
        relative, worth, rates = self._at.relative, self._at.worth, self._acceptance.rates
        best, best_gain, gain, survives = 0, 0.0, 0.0, 1.0
        for k, bucket in enumerate(self.buckets[:n_drawn], start=1):
            survives *= rates[bucket]
            gain += survives - worth * (relative[k + 1] - relative[k])
            if gain > best_gain:
                best, best_gain = k, gain
        return best

    def _promises(self, first: float, then: float, first_cost: float) -> bool:
        """Whether some continuation brings more tokens than its time is worth."""
        n = len(self.buckets)
        found = best_length(
            self._at, self._k, first, then, n=n, survives=self._survives, first_cost=first_cost
        )
        return found.k > n
