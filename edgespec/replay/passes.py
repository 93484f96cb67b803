"""What a draft model's tokens cost along a trace: a pass each, or fewer where retrieval guesses.

As a cascade, retrieval guesses under it, and a guess that was right spares a pass. What a draft
model's passes cost by their rows is taken to grow as the target's do.
"""

from collections import Counter
from collections.abc import Iterator
from math import inf

import numpy as np

from edgespec.control.acceptance import Usual
from edgespec.control.beneath import Beneath
from edgespec.control.costs import Measured
from edgespec.core import Draft, Sampler, Tokens
from edgespec.drafters.arms import Heard
from edgespec.drafters.model import ModelDrafter
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.events import Step
from edgespec.replay.trace import Proposal, Trace

MODEL, RETRIEVAL = ModelDrafter.name, SuffixDrafter.name
_NOWHERE: Tokens = np.empty(0, np.int32)
_NOTHING = Proposal((), 0)


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
