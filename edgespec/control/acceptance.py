"""How often drafted tokens come true, by kind: what was seen lately, leaning on what is usual.

Each kind has two discounted Beta counters. The slow one, which outlives an answer, is the prior of
the fast one, which follows the text: what came true in prose is forgotten in code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from edgespec.drafters.arms import Bucket

_SLOW, _FAST = 0.99, 0.92
"""What each observation leaves of the older ones."""
_PRIOR_WEIGHT = 8.0
_SLOW_WEIGHT = 10.0
"""Observations that the prior, and the slow estimate, count as. With 6 for the second, replays
of recorded answers are 0.3 to 1.5 % slower."""
_MOST = 0.995
"""No estimate is above: certainty would never end a draft."""
_OPTIMISM = 0.5
_KEPT = 30.0
"""Most observations of earlier sessions that count."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Slow counters by bucket: numbers without any text, to begin the next session with."""

    hits: tuple[float, ...]
    misses: tuple[float, ...]


class Usual:
    """Slow counters of one drafter, shared by the answers of a loaded model."""

    def __init__(self, buckets: Sequence[Bucket], earlier: Counts | None = None) -> None:
        self.buckets = buckets
        n = len(buckets)
        self.hits, self.misses = [0.0] * n, [0.0] * n
        """By bucket, old ones counting less."""
        self.priors = [_PRIOR_WEIGHT * bucket.prior for bucket in buckets]
        """By bucket: hits that the prior counts as."""
        if earlier is not None and len(earlier.hits) == n == len(earlier.misses):
            for i, (hits, misses) in enumerate(zip(earlier.hits, earlier.misses, strict=True)):
                share = min(1.0, _KEPT / max(hits + misses, 1e-9))
                self.hits[i], self.misses[i] = share * hits, share * misses

    @property
    def counts(self) -> Counts:
        """So far."""
        return Counts(tuple(self.hits), tuple(self.misses))

    def rate(self, bucket: int) -> float:
        """How often, in the long run."""
        hits, misses = self.hits[bucket], self.misses[bucket]
        return (hits + self.priors[bucket]) / (hits + misses + _PRIOR_WEIGHT)


class Acceptance:
    """One drafter's estimates within one answer."""

    def __init__(self, usual: Usual) -> None:
        n = len(usual.buckets)
        self.buckets = usual.buckets
        self._usual = usual
        self._hits, self._misses = [0.0] * n, [0.0] * n
        self.rates = [min(usual.rate(i), _MOST) for i in range(n)]
        """By bucket: the probability that its next token comes true."""

    def observe(self, bucket: int, is_hit: bool) -> None:
        """A token of the bucket came true, or did not. Written out, being asked at every token."""
        usual = self._usual
        long_hits, long_misses = _SLOW * usual.hits[bucket], _SLOW * usual.misses[bucket]
        hits, misses = _FAST * self._hits[bucket], _FAST * self._misses[bucket]
        if is_hit:
            long_hits, hits = long_hits + 1, hits + 1
        else:
            long_misses, misses = long_misses + 1, misses + 1
        usual.hits[bucket], usual.misses[bucket] = long_hits, long_misses
        self._hits[bucket], self._misses[bucket] = hits, misses
        long_run = (long_hits + usual.priors[bucket]) / (long_hits + long_misses + _PRIOR_WEIGHT)
        rate = (hits + _SLOW_WEIGHT * long_run) / (hits + misses + _SLOW_WEIGHT)
        self.rates[bucket] = rate if rate < _MOST else _MOST

    def seen(self, bucket: int) -> float:
        """Observations behind the rate, old ones counting less."""
        return self._hits[bucket] + self._misses[bucket]

    def hopeful(self, bucket: int) -> float:
        """The rate and a bonus for what is little known: for a choice that must be tried to be
        known. Source: optimism of upper confidence bounds (Auer et al. 2002)."""
        rate, n = self.rates[bucket], self.seen(bucket) + _SLOW_WEIGHT
        return min(0.985, rate + _OPTIMISM * sqrt(rate * (1 - rate) / (n + 1)))
