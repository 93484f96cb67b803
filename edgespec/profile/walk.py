"""Walking a drafter along a text that is known: what it would have proposed, and what that costs.

The text plays the target: a draft is accepted as far as it is the text. Costs are the measured
ones: passes of the target by their rows, and the time that drafting really took.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from edgespec.core import Drafter, Sampler, Tokens
from edgespec.costs import RowCosts

HOST_S = 0.0006
"""Everything beside passes and drafting, per step: as `edgespec bench` measures it on two cores."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What became of a text under one drafter; adds up."""

    n_tokens: int = 0
    steps: int = 0
    rounds: int = 0
    """Steps that had a draft."""
    drafted: int = 0
    accepted: int = 0
    seconds: float = 0.0
    plain_s: float = 0.0
    """The same text without drafts."""

    @property
    def speedup(self) -> float:
        """Times plain decoding; 1 for no text at all."""
        return self.plain_s / self.seconds if self.seconds else 1.0

    @property
    def acceptance(self) -> float | None:
        """Accepted over drafted; None without drafts."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def mean_length(self) -> float | None:
        """Tokens per round, the target's own included; None without rounds."""
        return 1 + self.accepted / self.rounds if self.rounds else None

    def __add__(self, other: "Walk") -> "Walk":
        return Walk(
            self.n_tokens + other.n_tokens,
            self.steps + other.steps,
            self.rounds + other.rounds,
            self.drafted + other.drafted,
            self.accepted + other.accepted,
            self.seconds + other.seconds,
            self.plain_s + other.plain_s,
        )


def walk(
    drafter: Drafter,
    tokens: Tokens,
    start: int,
    k: int,
    costs: RowCosts,
    sampler: Sampler,
    clock: Callable[[], float] = perf_counter,
) -> Walk:
    """Go from `start` to the end of `tokens`, with at most k drafted tokens per step."""
    at, steps, rounds, drafted, accepted, seconds = start, 0, 0, 0, 0, 0.0
    while at < len(tokens):
        budget = min(k, len(tokens) - at - 1)
        began_s = clock()
        draft = drafter.draft(tokens[:at], budget, sampler).tokens
        seconds += clock() - began_s + costs.of(len(draft) + 1) + HOST_S
        right = 0
        while right < len(draft) and draft[right] == tokens[at + right]:
            right += 1
        steps += 1
        rounds += bool(draft)
        drafted += len(draft)
        accepted += right
        at += right + 1
    n_tokens = max(0, len(tokens) - start)
    plain_s = n_tokens * (costs.plain_s + HOST_S)
    return Walk(n_tokens, steps, rounds, drafted, accepted, seconds, plain_s)
