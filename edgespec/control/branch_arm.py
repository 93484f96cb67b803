"""A drafter of trees, as an arm: a pass of many rows, of which one way comes true.

A tree is taken only where it promises more than the best chain, so it is never worse by its own
estimate. What is heard of without a pass is learned all along; what only a pass shows (a window
that the target guesses ahead in) is an investment: tried now and then, out of what was put aside
for it, and never where the curve forbids it.
"""

from collections.abc import Mapping

from edgespec.control.acceptance import Acceptance
from edgespec.control.found import Found
from edgespec.control.ledger import SHARE
from edgespec.control.situation import Situation
from edgespec.core import Tokens
from edgespec.drafters.arms import Branching, Offer
from edgespec.events import Step

_LOOK_AGAIN = 32
"""Steps for which a drafter that cannot gain here is not thought about."""
_MOST_REST = 16
"""Steps that a drafter rests at most whose trees were of no use: each look costs some 50 us."""
_LEAST_GAIN = 0.1
"""Tokens that a tree must promise beyond the best chain: of many estimates the largest flatters.
Replays of recorded answers are 0.5 % faster with it on curves of GPUs."""
_TRIAL = 12
"""Steps of a trial: a window brings nothing before it has run for a few."""


class BranchArm:
    """One drafter within one answer."""

    def __init__(self, drafter: Branching, acceptance: Mapping[str, Acceptance]) -> None:
        """`acceptance`: of itself and of all free drafters, by name."""
        self.name = drafter.name
        self.acceptance = acceptance[drafter.name]
        self._drafter = drafter
        self._rates = {name: one.rates for name, one in acceptance.items()}
        self._hopeless_for = self._rest = self._last_rest = 0
        self._idle = self._trial = 0
        self.note = ""
        """Why none of its trees was taken so far; empty where one was, or nothing is known yet."""
        self._is_used = False

    def weigh(self, context: Tokens, at: Situation, best: Found) -> None:
        """Replace `best` by a tree, where that promises more; or by a trial, where one is due."""
        if at.only or not at.limit or self._is_hopeless(at):
            return
        if self._rest:
            self._rest -= 1
            return
        is_mine, is_risky, least = False, False, best.gain + _LEAST_GAIN
        for n_nodes, tokens in self._drafter.offers(
            context, at.limit, self._rates, self.acceptance.observe
        ):
            cost = at.relative[n_nodes + 1]
            gain = tokens - at.worth * (cost - 1)
            if gain > (best.gain if is_mine else least):
                if cost <= at.most:
                    is_mine = True
                    self._take(best, Offer(n_nodes, tokens), cost, gain)
                else:
                    is_risky = True
        if is_mine:
            self._last_rest = 0
        elif is_risky and not best.k:
            best.reason = "guarded"
        elif self._drafter.best:
            self._try(at, best)
        else:
            self._rest = self._last_rest = min(2 * self._last_rest + 1, _MOST_REST)
            self._say("no tree promised more than the best chain")

    def observe(self, found: Found, step: Step) -> None:
        """A step ended that was chosen as `found`: learn how far its ways came true."""
        if found.drafter != self.name or not found.is_tree:
            self._idle += len(step.tokens)
            return
        self._idle = 0
        n_accepted = step.accepted + step.discarded
        for i, bucket in enumerate(self._drafter.way(found.k, n_accepted + 1)):
            self.acceptance.observe(bucket, i < n_accepted)

    def _take(self, best: Found, offer: Offer, cost: float, gain: float) -> None:
        best.drafter, best.k, best.is_tree = self.name, offer.n_nodes, True
        best.gain, best.tokens, best.cost = gain, 1 + offer.tokens, cost
        best.reason, best.bucket, best.steering, best.n_read = "gain", "", None, 0
        self._is_used, self.note = True, ""

    def _say(self, note: str) -> None:
        if not self._is_used:
            self.note = note

    def _is_hopeless(self, at: Situation) -> bool:
        """Whether its rows are too dear for the best that it can bring."""
        if self._hopeless_for:
            self._hopeless_for -= 1
            return True
        offers = self._drafter.best
        is_hopeless = bool(offers) and not any(self._promises(offer, at) for offer in offers)
        if is_hopeless:
            self._hopeless_for, self._trial = _LOOK_AGAIN, 0
            n_rows = 1 + offers[0].n_nodes
            self._say(
                f"left out: a pass of {n_rows} rows costs {at.relative[n_rows]:.1f} plain steps"
                f" here, and brings {1 + offers[0].tokens:.1f} tokens at best"
            )
        return is_hopeless

    def _try(self, at: Situation, best: Found) -> None:
        """Go on with a trial, or begin one that costs no more than was put aside for it."""
        if best.k or best.reason == "guarded":
            return
        affordable = (o for o in self._drafter.best if at.relative[o.n_nodes + 1] <= at.most)
        hopeful = [offer for offer in affordable if self._promises(offer, at)]
        if not hopeful:
            return
        offer = max(hopeful, key=lambda o: o.tokens - at.worth * at.relative[o.n_nodes + 1])
        cost = at.relative[offer.n_nodes + 1]
        if not self._trial:
            if self._idle * SHARE < _TRIAL * (cost - 1):
                return
            self._trial = _TRIAL
        self._trial -= 1
        self._take(best, offer, cost, best.gain)
        best.reason, best.tokens = "probe", 1.0

    def _promises(self, offer: Offer, at: Situation) -> bool:
        if offer.n_nodes > at.limit:
            return False
        return offer.tokens > at.worth * (at.relative[offer.n_nodes + 1] - 1)
