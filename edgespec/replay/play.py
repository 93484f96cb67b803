"""A trace decoded by a policy on a clock that knows only the curve: any controller, any costs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgespec.control.costs import LONGEST, Measured
from edgespec.core import Choice, Controller, Draft, Sampler, Tokens
from edgespec.drafters import find
from edgespec.drafters.arms import Bucket, Heard
from edgespec.drafters.model import STRAIGHT_ON
from edgespec.events import Step
from edgespec.replay.asked import TracedPaid
from edgespec.replay.branching import TracedTree, TracedWindow
from edgespec.replay.trace import Proposal, Trace


class TracedFree:
    """Implements `arms.Free`: proposes what was recorded."""

    def __init__(self, name: str, buckets: Sequence[Bucket], trace: Trace) -> None:
        self.name = name
        self.buckets = buckets
        self._proposals = trace.free[name]
        self._start = trace.prompt_tokens
        self._at = 0

    def at(self, context: int) -> Proposal:
        """The proposal after `context` tokens."""
        return self._proposals[context - self._start]

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        """See `arms.Free`."""
        end = len(context) - self._start
        for proposal in self._proposals[self._at : end]:
            if proposal.buckets:
                heard(proposal.buckets[0], proposal.accepted > 0)
        self._at = end
        return iter(self._proposals[end].buckets)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """Never called: a replay has no tokens."""
        raise AssertionError("a replay drafts nothing")


TracedArm = TracedFree | TracedPaid | TracedTree | TracedWindow


@dataclass(frozen=True, slots=True)
class Arms:
    """The drafters of one trace, as a controller sees them."""

    free: tuple[TracedFree, ...]
    paid: tuple[TracedPaid, ...]
    branching: tuple[TracedTree | TracedWindow, ...]

    @staticmethod
    def of(trace: Trace, costs: Measured) -> "Arms":
        """All that were recorded, and a cascade of them."""
        branching: list[TracedTree | TracedWindow] = []
        if trace.trees:
            branching.append(TracedTree(trace))
        if trace.windows:
            branching.append(TracedWindow(trace))
        return Arms(
            tuple(TracedFree(name, _buckets(name), trace) for name in trace.free),
            TracedPaid.of(trace, costs),
            tuple(branching),
        )

    def chosen(self, choice: Choice) -> "TracedArm | None":
        """The drafter that is meant; None: plain decoding."""
        for tree in self.branching:
            if tree.name == choice.drafter and tree.is_meant(choice.k):
                return tree
        others: tuple[TracedFree | TracedPaid, ...] = (*self.free, *self.paid)
        return next((arm for arm in others if arm.name == choice.drafter), None)


def _buckets(drafter: str) -> Sequence[Bucket]:
    buckets: Sequence[Bucket] = find(drafter).buckets  # type: ignore[attr-defined]
    return buckets


Policy = Callable[[Arms, Measured], Controller]
"""Makes the controller for one trace."""


def play(trace: Trace, policy: Policy, costs: Measured) -> list[Step]:
    """The steps that the policy takes, each with the time it takes by `costs`.

    A target's pass takes what `costs` says of its rows, a drafter that is free nothing.
    """
    arms = Arms.of(trace, costs)
    controller = policy(arms, costs)
    steps: list[Step] = []
    at = trace.prompt_tokens
    end = at + trace.n_tokens
    context = np.zeros(end, np.int32)
    while at < end:
        budget = min(end - at - 1, LONGEST)
        choice = controller.choose(context[:at], budget)
        step = _step(choice, arms.chosen(choice), at, budget, costs)
        controller.observe(step)
        steps.append(step)
        at += len(step.tokens)
    return steps


def _step(
    choice: Choice,
    arm: TracedArm | None,
    at: int,
    budget: int,
    costs: Measured,
) -> Step:
    drafted = accepted = 0
    rows = None
    draft_s = 0.0
    if isinstance(arm, TracedFree):
        proposal = arm.at(at)
        drafted = min(choice.k, budget, len(proposal.buckets))
        accepted = min(drafted, proposal.accepted)
    elif isinstance(arm, TracedTree | TracedWindow):
        accepted = min(arm.accepted(at, choice.k), budget)
        drafted, rows = max(accepted, 1), choice.k + 1
    elif arm is not None:
        assert costs.read_s is not None, "a draft model has costs"
        unread = max(0, at - 1 - arm.n_read)
        if choice.n_read:
            n = min(choice.n_read, unread)
            draft_s = n * costs.read_s
            arm.n_read += n
        elif choice.k:
            k = min(choice.k, budget)
            drawn = arm.drafted(at, k, choice.steering or STRAIGHT_ON)
            drafted, accepted = drawn.drafted, drawn.accepted
            draft_s = drawn.draft_s + unread * costs.read_s
            arm.n_read = at + min(accepted, max(drafted - 1, 0))
    rows = drafted + 1 if rows is None else rows
    pass_s = costs.target.of(rows)
    return Step(
        drafter=choice.drafter,
        draft=(0,) * drafted,
        tokens=(0,) * (accepted + 1),
        accepted=accepted,
        discarded=0,
        rows=rows,
        draft_s=draft_s,
        target_s=pass_s,
        verify_s=0.0,
        step_s=draft_s + pass_s,
        context=at,
    )


def total_s(steps: Sequence[Step]) -> float:
    """Time of all steps."""
    return sum(step.step_s for step in steps)
