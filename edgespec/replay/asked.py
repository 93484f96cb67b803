"""A draft model along a trace: what it drafts, how far, and by how many passes.

Alone it takes a pass for each token; as a cascade, retrieval guesses under it, and a guess that
was right spares one. What a draft model's passes cost by their rows is taken to grow as the
target's do.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from edgespec.control.acceptance import Usual
from edgespec.control.beneath import Beneath
from edgespec.control.costs import Measured
from edgespec.core import Draft, Sampler, Steering, Tokens
from edgespec.drafters.arms import Bucket, Heard
from edgespec.drafters.model import ModelDrafter, bucket_of
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.events import Step
from edgespec.replay.trace import PaidTrace, Proposal, Trace

MODEL, CASCADE, RETRIEVAL = ModelDrafter.name, "cascade", SuffixDrafter.name
_NOWHERE: Tokens = np.empty(0, np.int32)
_NOTHING = Proposal((), 0)


def paid_names(trace: Trace) -> tuple[str, ...]:
    """The drafters that its draft model makes."""
    if MODEL not in trace.paid:
        return ()
    return (MODEL, CASCADE) if RETRIEVAL in trace.free else (MODEL,)


class Drawn(NamedTuple):
    """A draft."""

    drafted: int
    accepted: int
    n_passes: int
    """Rows that were looked at, as `core.Steering` counts them."""
    draft_s: float


class OneByOne:
    """A pass for each token."""

    is_there = False

    def __init__(self, draft_s: float) -> None:
        self._draft_s = draft_s

    def begin(self, at: int) -> None:
        """A draft begins at this position."""

    def row(self, most: int) -> float:
        """The next row; `most`: tokens that may be drafted yet. Returns: seconds."""
        return self._draft_s

    def drew(self, *, is_right: bool) -> None:
        """A token was drawn from it, and is the answer's or not."""

    def end(self) -> None:
        """The draft ended."""


class Guesses:
    """What retrieval says where a draft model is asked, and whether that is what it draws."""

    def __init__(self, trace: Trace) -> None:
        self.proposals = trace.free[RETRIEVAL]
        paid = trace.paid[MODEL]
        self._accepted = paid.accepted
        backing = paid.backing.get(RETRIEVAL)
        self._is_drawn = backing.is_drawn if backing else None

    def is_right(self, at: int) -> bool:
        """Whether the first token proposed there is drawn there. Where that was not recorded, one
        that is not the answer's counts as wrong."""
        if self._is_drawn is not None:
            return self._is_drawn[at]
        return self._accepted[at] and self.proposals[at].accepted > 0

    def runs(self) -> list[int]:
        """From each position on, how many tokens in a row are guessed, drawn and accepted."""
        runs, run = [], 0
        for at in reversed(range(len(self._accepted))):
            run = run + 1 if self._accepted[at] and self.is_right(at) else 0
            runs.append(run)
        return runs[::-1]


def drafts_s(trace: Trace, costs: Measured, longest: int) -> list[list[float]]:
    """drafts_s[at][k]: least time for k tokens drafted along the answer from a position on, by who
    knows which guesses are right."""
    assert costs.draft_s is not None, "a draft model has costs"
    n_tokens, target = trace.n_tokens, costs.target
    runs = Guesses(trace).runs() if RETRIEVAL in trace.free else [0] * n_tokens
    pass_s = [costs.draft_s * target.of(n) / target.plain_s for n in range(1, longest + 2)]
    found = []
    for at in range(n_tokens):
        most = min(longest, n_tokens - at)
        least = [0.0] + [inf] * most
        for k in range(most):
            for n in range(min(runs[at + k], most - k - 1) + 1):
                least[k + n + 1] = min(least[k + n + 1], least[k] + pass_s[n])
        found.append(least)
    return found


class Told:
    """Retrieval where a draft has come to; fulfils `arms.Free`."""

    name = RETRIEVAL
    buckets = SuffixDrafter.buckets

    def __init__(self) -> None:
        self.now = _NOTHING
        self.heard: list[tuple[int, bool]] = []

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        """See `arms.Free`."""
        for bucket, is_hit in self.heard:
            heard(bucket, is_hit)
        self.heard.clear()
        return iter(self.now.buckets)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """Never called: a trace has no tokens to give."""
        raise AssertionError("a trace has no tokens to give")


class WithGuesses:
    """Passes over guesses, as many as the controller beneath finds worth their rows.

    Behind a token that is not the answer's nothing is known of guesses, and each token counts as a
    pass, which is in the cascade's disfavour.
    """

    def __init__(self, trace: Trace, costs: Measured, usual: dict[str, Usual]) -> None:
        self.by_rows: Counter[int] = Counter()
        self._guesses = Guesses(trace)
        self._told = Told()
        self._controller = Beneath([self._told], [], costs.live(is_live=False), usual)
        self._costs = costs
        self._at = 0
        self._is_astray = self._is_open = False
        self._guessed = self._used = self._left = 0
        self.is_there = False

    def begin(self, at: int) -> None:
        """A draft begins at this position."""
        self._at, self._is_astray, self.is_there = at, False, False

    def row(self, most: int) -> float:
        """The next row; `most`: tokens that may be drafted yet. Returns: seconds."""
        self._left = most
        if self.is_there:
            self._used += 1
            return 0.0
        self._settle()
        told, target = self._told, self._costs.target
        told.now = _NOTHING if self._is_astray else self._guesses.proposals[self._at]
        choice = self._controller.choose(_NOWHERE, most - 1)
        self._guessed, self._used, self._is_open = choice.k, 1, True
        self.by_rows[choice.k + 1] += 1
        return (self._costs.draft_s or 0.0) * target.of(choice.k + 1) / target.plain_s

    def drew(self, *, is_right: bool) -> None:
        """A token was drawn from it, and is the answer's or not."""
        guesses, at = self._guesses, self._at
        is_guessed = not self._is_astray and guesses.is_right(at)
        if not self._is_astray and guesses.proposals[at].buckets and self._left > 1:
            self._told.heard.append((guesses.proposals[at].buckets[0], is_guessed))
        self.is_there = is_guessed and self._used <= self._guessed
        self._is_astray = self._is_astray or not is_right
        self._at += 1

    def end(self) -> None:
        """The draft ended."""
        self._settle()
        self.is_there = False

    def _settle(self) -> None:
        if self._is_open:
            self._controller.observe(_step(self._guessed, self._used))
        self._is_open = False


class TracedPaid:
    """Implements `arms.Paid`: drafts what was recorded."""

    note = ""
    buckets: Sequence[Bucket] = ModelDrafter.buckets
    shares: Sequence[float] = ModelDrafter.shares

    def __init__(self, name: str, trace: Trace, passes: OneByOne | WithGuesses) -> None:
        self.name = name
        self.passes = passes
        self._trace: PaidTrace = trace.paid[MODEL]
        self._start = trace.prompt_tokens
        self._is_greedy = trace.temperature == 0
        self.n_read = 0

    @staticmethod
    def of(trace: Trace, costs: Measured) -> "tuple[TracedPaid, ...]":
        """The model alone, and as a cascade where retrieval was recorded too."""
        if MODEL not in trace.paid or costs.draft_s is None:
            return ()
        alone = TracedPaid(MODEL, trace, OneByOne(costs.draft_s))
        if RETRIEVAL not in trace.free:
            return (alone,)
        usual = {RETRIEVAL: Usual(SuffixDrafter.buckets)}
        return alone, TracedPaid(CASCADE, trace, WithGuesses(trace, costs, usual))

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

    def drafted(self, context: int, k: int, steering: Steering) -> Drawn:
        """What it would draft after `context` tokens."""
        trace, start, passes = self._trace, context - self._start, self.passes
        drafted = n_passes = 0
        draft_s = 0.0
        refused: int | None = None
        passes.begin(start)
        while drafted < k and (passes.is_there or steering.asks()):
            draft_s += passes.row(k - drafted)
            n_passes += 1
            at = start + drafted
            if not steering.draws(self._confidence(at, refused)):
                break
            if refused is None and not trace.accepted[at]:
                refused = at
            passes.drew(is_right=refused is None)
            drafted += 1
        passes.end()
        if self._is_greedy:
            drafted = steering.kept(drafted)
        accepted = drafted if refused is None else min(refused - start, drafted)
        return Drawn(drafted, accepted, n_passes, draft_s)

    def _confidence(self, at: int, refused: int | None) -> float:
        """Behind a refused token, as it was recorded there."""
        trace = self._trace
        if refused is None:
            return trace.confidence[at]
        further = trace.astray.get(refused, ()) or (trace.confidence[refused],)
        return further[min(at - refused - 1, len(further) - 1)]


class _On:
    """Steers a draft model straight on."""

    def asks(self) -> bool:
        return True

    def draws(self, confidence: float) -> bool:
        return True

    def kept(self, n_drawn: int) -> int:
        return n_drawn


ON = _On()


def _step(guessed: int, used: int) -> Step:
    return Step(
        drafter=RETRIEVAL,
        draft=(0,) * guessed,
        tokens=(0,) * used,
        accepted=used - 1,
        discarded=0,
        rows=guessed + 1,
        draft_s=0.0,
        target_s=0.0,
        verify_s=0.0,
        step_s=0.0,
        context=0,
    )
