"""Counting what verification does with drafts, against what theory says it should do."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, pstdev
from typing import Literal

from edgespec.core import Dist, Draft, Sampler
from edgespec.verify import accept_probability, verify

_DRAWS = 100
"""Verifications per position: chance then moves a share by less than 0.01."""
_ALARM = 4.5
"""Standard deviations: a sound pair is refused once in 100,000 proofs."""


@dataclass(frozen=True, slots=True)
class Share:
    """How often something happened, and how often it should have."""

    measured: float
    expected: float
    error: float
    """Standard deviation of `measured`."""

    @property
    def is_sound(self) -> bool:
        """Chance explains the difference."""
        return abs(self.measured - self.expected) <= _ALARM * self.error + 1e-9


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What was measured of sampled drafts, at the same positions as it was computed."""

    n_positions: int
    n_draws: int
    accepted: Share
    """First draft tokens, against the sum of min(p, q)."""
    best: Share
    """The target's likeliest token among what came out, against its probability p."""
    token_length: float
    """Draft tokens accepted on average, judged one by one."""
    block_length: float
    """The same drafts, judged as blocks."""
    length_error: float

    @property
    def is_sound(self) -> bool:
        """Nothing contradicts the theory."""
        gains = self.block_length >= self.token_length - _ALARM * self.length_error - 1e-9
        return self.accepted.is_sound and self.best.is_sound and gains


class Tally:
    """Counts what `verify` does with drafts whose p and q are known."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._accepted: list[tuple[float, float]] = []
        self._best: list[tuple[float, float]] = []
        self._lengths: list[tuple[float, float]] = []

    def add(self, draft: Draft, p: Sequence[Dist], position: int) -> None:
        """Verify one-token drafts drawn anew from q₁, and `draft` itself by both rules."""
        first, q = p[0], draft.dists[0]
        best = int(first.ids[first.probs.argmax()])
        n_accepted = n_best = n_token = n_block = 0
        for _ in range(_DRAWS):
            one = Draft((self._sampler.draw_draft(q, position),), (q,))
            verdict = verify(one, p.__getitem__, self._sampler, position)
            n_accepted += verdict.accepted
            n_best += verdict.tokens[0] == best
            n_token += self._length(draft, p, position, "token")
            n_block += self._length(draft, p, position, "block")
        self._accepted.append((n_accepted / _DRAWS, accept_probability(first, q)))
        self._best.append((n_best / _DRAWS, first.prob(best)))
        self._lengths.append((n_token / _DRAWS, n_block / _DRAWS))

    def _length(
        self, draft: Draft, p: Sequence[Dist], position: int, rule: Literal["token", "block"]
    ) -> int:
        return verify(draft, p.__getitem__, self._sampler, position, rule=rule).accepted

    def acceptance(self) -> Acceptance:
        """The means over all positions."""
        gains = [block - token for token, block in self._lengths]
        return Acceptance(
            n_positions=len(self._lengths),
            n_draws=_DRAWS,
            accepted=_share(self._accepted),
            best=_share(self._best),
            token_length=fmean(token for token, _ in self._lengths),
            block_length=fmean(block for _, block in self._lengths),
            length_error=pstdev(gains) / sqrt(len(gains)),
        )


def _share(pairs: Sequence[tuple[float, float]]) -> Share:
    """(measured, expected) per position, each measured `_DRAWS` times, as one."""
    variance = sum(p * (1 - p) / _DRAWS for _, p in pairs)
    return Share(
        measured=fmean(measured for measured, _ in pairs),
        expected=fmean(expected for _, expected in pairs),
        error=sqrt(max(0.0, variance)) / len(pairs),
    )
