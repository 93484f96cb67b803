"""A drafter with passes of its own, as an arm: asked where its answer will likely be worth it,
steered token by token, and read for only where that is expected to pay back."""

from collections.abc import Sequence

from edgespec.control.acceptance import Acceptance
from edgespec.control.found import Found
from edgespec.control.ledger import SHARE
from edgespec.control.marginal import Marginal, Sureness
from edgespec.control.promise import Promises
from edgespec.control.situation import Situation, best_length
from edgespec.core import Tokens
from edgespec.drafters.arms import Paid
from edgespec.events import Step
from edgespec.explanation import Reason

_CATCH_UP = 32
"""Unread tokens up to which it reads and drafts in one step."""
_SLICE = 128
_LEAST_SLICE = 16
"""Tokens of context that are read in one step,"""
_PAUSE = 1.0
"""or as many as take so many plain steps, where reading is fast."""
_PAYBACK = 2.0
"""How much more than its cost reading must be expected to save."""
_CERTAIN = 0.985
"""Acceptance that no draft model exceeds for long."""
_LOOK_AGAIN = 32
"""Steps between two looks at whether it could gain here at all."""
_REVISED, _TELLING = 16, 4
"""Steps between two looks at its pace; its own count as so many, for they tell something new."""
_AT_ONCE = 4
"""Looks where there was none yet."""


class PaidArm:
    """One drafter within one answer."""

    def __init__(self, drafter: Paid, acceptance: Acceptance) -> None:
        self.name = drafter.name
        self.acceptance = acceptance
        self._drafter = drafter
        self._sureness = Sureness(tuple(drafter.shares))
        self._n_kinds = len(drafter.shares)
        self._promises = Promises(self._n_kinds)
        self.pace = 0.0
        """Tokens in a plain step's time that it promises to bring in the long run, 1 or more; 0
        where it can bring nothing."""
        self._revise_in = 0
        self._idle = 0
        self._is_hopeless = False
        self._look_in = 0
        self._before: int | None = None
        """The bucket of the last token of the last draft, if all of it was accepted."""

    def weigh(self, context: Tokens, at: Situation, best: Found) -> None:
        """Replace `best` by drafting, by a trial, or by reading, where that promises more."""
        if not self._look_in:
            self._look(at)
        if not at.limit or self._drafter.note or self._is_hopeless:
            self.pace = 0.0
            return
        if not self._revise_in:
            self._revise_pace(at)
        n_unread = self._drafter.unread(context)
        if n_unread > _CATCH_UP:
            if not best.k:
                self._weigh_reading(n_unread, at, best)
            return
        reading = n_unread * at.read_cost
        k = _longest(reading, at)
        rates, shares = self.acceptance.rates, self._sureness.shares
        gain, tokens, cost = self._promises.lately(at, k or min(at.limit, 1), rates, shares)
        gain -= at.worth * reading
        reason: Reason = "gain"
        if gain <= best.gain:
            if best.k or not self._is_trial_due(at, reading):
                return
            gain, reason = best.gain, "probe"
        if k == 0 or (at.only and k < at.limit):
            best.reason = best.reason if best.k else "guarded"
            return
        best.drafter, best.k, best.gain, best.tokens = self.name, k, gain, tokens
        best.cost, best.reason, best.n_read, best.bucket = cost + reading, reason, 0, ""
        best.steering = Marginal(self.acceptance, self._sureness, self._drafter.bucket_of, at, k)

    def observe(self, drafter: str, buckets: Sequence[int], step: Step) -> None:
        """A step by `drafter` ended; `buckets` are those of its drafted tokens.

        Tokens behind the first refused one were not judged. Where a whole draft was accepted, the
        next one's first token counts as one that followed it: else nothing would be learned of
        what follows while drafts are of one token.
        """
        self._look_in = max(0, self._look_in - 1)
        told = _TELLING if drafter == self.name else 1
        self._revise_in = max(0, self._revise_in - told) if self.pace else 0
        before, self._before = self._before, None
        if drafter != self.name:
            self._idle += len(step.tokens)
            return
        self._idle = 0
        n_accepted = step.accepted + step.discarded
        for i, bucket in enumerate(buckets[: min(step.drafted, n_accepted + 1)]):
            self.acceptance.observe(bucket, i < n_accepted)
            if before is not None:
                self.acceptance.observe(self._n_kinds + before, i < n_accepted)
            before = bucket
        if step.drafted and n_accepted == step.drafted:
            self._before = before

    def _look(self, at: Situation) -> None:
        """Whether near certainty would make it worth its time, were time worth little."""
        cheap = at.priced(1.0)
        found = best_length(cheap, at.limit, _CERTAIN, _CERTAIN, first_cost=at.token_cost)
        self._is_hopeless = found.gain <= 0
        self._look_in = _LOOK_AGAIN

    def _revise_pace(self, at: Situation) -> None:
        """Towards what it brings if time is worth just that (Dinkelbach 1967)."""
        most = _longest(0.0, at) or 1
        for _ in range(1 if self.pace else _AT_ONCE):
            priced = at.priced(max(1.0, self.pace))
            found = self._promises.best(priced, most, self.acceptance.rates, self._sureness.shares)
            self.pace = max(1.0, found.tokens / found.cost)
        self._revise_in = _REVISED

    def _is_trial_due(self, at: Situation, reading: float) -> bool:
        """Whether trying it once costs no more than was put aside since it was last asked, and
        could change anything."""
        if at.only or self._idle * SHARE < at.token_cost + reading + at.relative[2] - 1:
            return False
        hopes = [self.acceptance.hopeful(bucket) for bucket in range(2 * self._n_kinds)]
        return self._promises.best(at, at.limit, hopes, self._sureness.shares).gain > 0

    def _weigh_reading(self, n_unread: int, at: Situation, best: Found) -> None:
        """Read a slice, where drafting is expected to pay the whole back within the answer."""
        saved = at.left * (1 / at.worth - 1 / self.pace)
        reading = n_unread * at.read_cost
        if saved < _PAYBACK * reading:
            return
        if reading + at.token_cost + at.relative[2] > at.most:  # nothing would be left to draft
            best.reason = "guarded"
            return
        most = max(_SLICE, int(_PAUSE / at.read_cost))
        n = min(n_unread, most, int((at.most - 1) / at.read_cost))
        if n < min(_LEAST_SLICE, n_unread):
            best.reason = "guarded"
            return
        best.drafter, best.n_read, best.reason = self.name, n, "read"
        best.cost = 1 + n * at.read_cost


def _longest(reading: float, at: Situation) -> int:
    """The longest draft that the ledger permits, all its passes made."""
    most, token_cost, k = at.most - reading - at.token_cost, at.token_cost, 0
    costs = at.relative[2 : at.limit + 2]
    if costs and max(costs) + at.limit * token_cost <= most:
        return at.limit
    for cost in costs:
        if cost > most:
            break
        most -= token_cost
        k += 1
    return k
