"""Walking drafters along a text that is known: what they would have proposed, at which cost.

The text plays the target: a draft is accepted as far as it is the text. Costs are the measured
ones: passes of the target by their rows, and the time that drafting really took.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

from edgespec.control import LONGEST
from edgespec.core import Controller, Draft, Drafter, Sampler, Tokens
from edgespec.costs import RowCosts
from edgespec.drafters.asked import drafted
from edgespec.drafters.ways import best_way
from edgespec.events import Step


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
    controller: Controller,
    drafters: Mapping[str, Drafter],
    tokens: Tokens,
    start: int,
    costs: RowCosts,
    sampler: Sampler,
    host_s: float,
    clock: Callable[[], float] = perf_counter,
) -> Walk:
    """Go from `start` to the end of `tokens`, the controller choosing as in an answer.

    `host_s`: everything beside passes and drafting, per step.
    """
    at, found = start, Walk()
    while at < len(tokens):
        choice = controller.choose(tokens[:at], min(LONGEST, len(tokens) - at - 1))
        drafter = drafters[choice.drafter]
        began_s = clock()
        draft = drafted(drafter, choice, tokens[:at], sampler)
        draft_s = clock() - began_s
        step = _step(drafter.name, draft, tokens, at, draft_s, costs, host_s)
        controller.observe(step)
        n = len(step.tokens)
        found += Walk(
            n,
            1,
            int(step.drafted > 0),
            step.drafted,
            step.accepted,
            step.step_s,
            n * (costs.plain_s + host_s),
        )
        at += n
    return found


def _step(
    name: str,
    draft: Draft,
    tokens: Tokens,
    at: int,
    draft_s: float,
    costs: RowCosts,
    host_s: float,
) -> Step:
    """The step as the target would have judged it if it had meant to say the text."""
    way, right = best_way(draft, at, tokens[at:].tolist())
    rows = draft.n_nodes + 1
    target_s = costs.of(rows)
    return Step(
        drafter=name,
        draft=way,
        tokens=tuple(tokens[at : at + right + 1].tolist()),
        accepted=right,
        discarded=0,
        rows=rows,
        draft_s=draft_s,
        target_s=target_s,
        verify_s=0.0,
        step_s=draft_s + target_s + host_s,
        context=at,
        match=draft.match,
    )
