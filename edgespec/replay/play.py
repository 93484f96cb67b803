"""A trace decoded by a policy on a clock that knows only the curve: any controller, any costs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgespec.control.costs import LONGEST, Measured
from edgespec.core import Choice, Controller, Draft, Sampler, Steering, Tokens
from edgespec.drafters import find
from edgespec.drafters.arms import Bucket, Heard
from edgespec.drafters.model import ModelDrafter, bucket_of
from edgespec.events import Step
from edgespec.replay.branching import TracedTree, TracedWindow
from edgespec.replay.trace import PaidTrace, Proposal, Trace


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


class TracedPaid:
    """Implements `arms.Paid`: drafts what was recorded."""

    note = ""
    buckets: Sequence[Bucket] = ModelDrafter.buckets
    shares: Sequence[float] = ModelDrafter.shares

    def __init__(self, name: str, trace: Trace) -> None:
        self.name = name
        self._trace: PaidTrace = trace.paid[name]
        self._start = trace.prompt_tokens
        self._is_greedy = trace.temperature == 0
        self.n_read = 0

    def bucket_of(self, confidence: float) -> int:
        """See `arms.Paid`."""
        return bucket_of(confidence)

    def unread(self, context: Tokens) -> int:
        """See `arms.Paid`."""
        return max(0, len(context) - 1 - self.n_read)

    def read(self, context: Tokens, n_tokens: int, sampler: Sampler) -> None:
        """Never called: a replay has no models."""
        raise AssertionError("a replay reads nothing")

    def draft_while(self, context: Tokens, k: int, sampler: Sampler, steering: Steering) -> Draft:
        """Never called: a replay has no tokens."""
        raise AssertionError("a replay drafts nothing")

    def drafted(self, context: int, k: int, steering: Steering) -> tuple[int, int, int]:
        """How many tokens it would draft, how many are accepted, and its passes."""
        trace, start = self._trace, context - self._start
        drafted = passes = 0
        refused: int | None = None
        while drafted < k and steering.asks():
            passes += 1
            at = start + drafted
            if refused is None:
                sure = trace.confidence[at]
            else:
                further = trace.astray.get(refused, ()) or (trace.confidence[refused],)
                sure = further[min(at - refused - 1, len(further) - 1)]
            if not steering.draws(sure):
                break
            if refused is None and not trace.accepted[at]:
                refused = at
            drafted += 1
        if self._is_greedy:
            drafted = steering.kept(drafted)
        accepted = drafted if refused is None else min(refused - start, drafted)
        return drafted, accepted, passes


TracedArm = TracedFree | TracedPaid | TracedTree | TracedWindow


@dataclass(frozen=True, slots=True)
class Arms:
    """The drafters of one trace, as a controller sees them."""

    free: tuple[TracedFree, ...]
    paid: tuple[TracedPaid, ...]
    branching: tuple[TracedTree | TracedWindow, ...]

    @staticmethod
    def of(trace: Trace) -> "Arms":
        """All that were recorded."""
        branching: list[TracedTree | TracedWindow] = []
        if trace.trees:
            branching.append(TracedTree(trace))
        if trace.windows:
            branching.append(TracedWindow(trace))
        return Arms(
            tuple(TracedFree(name, _buckets(name), trace) for name in trace.free),
            tuple(TracedPaid(name, trace) for name in trace.paid),
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


class _On:
    """Steers a draft model straight on."""

    def asks(self) -> bool:
        return True

    def draws(self, confidence: float) -> bool:
        return True

    def kept(self, n_drawn: int) -> int:
        return n_drawn


def play(trace: Trace, policy: Policy, costs: Measured) -> list[Step]:
    """The steps that the policy takes, each with the time it takes by `costs`.

    A target's pass takes what `costs` says of its rows, a drafter that is free nothing.
    """
    arms = Arms.of(trace)
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
        assert costs.draft_s is not None, "a draft model has costs"
        assert costs.read_s is not None, "a draft model has costs"
        unread = max(0, at - 1 - arm.n_read)
        if choice.n_read:
            n = min(choice.n_read, unread)
            draft_s = n * costs.read_s
            arm.n_read += n
        elif choice.k:
            k = min(choice.k, budget)
            drafted, accepted, passes = arm.drafted(at, k, choice.steering or _On())
            draft_s = passes * costs.draft_s + unread * costs.read_s
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
