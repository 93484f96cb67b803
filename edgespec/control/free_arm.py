"""A drafter that costs no pass, as an arm: its best length follows from what it would say."""

from edgespec.control.acceptance import Acceptance
from edgespec.control.found import Found
from edgespec.control.situation import CLASSES, NEGLIGIBLE, Situation
from edgespec.core import Tokens
from edgespec.drafters.arms import Free

_SURE = 0.75
"""Share of a draft's tokens that are expected to come true, from which on it may take what the
ledger keeps in reserve."""

_LEAST_WORTH = 1.3
"""Tokens that a plain step's time must be worth for this: of many lengths the one that promises
most flatters, and in an answer with little to copy two tries that fail are not made up for. With
it, replays of recorded chats lose half as much, and edits gain no less."""


class FreeArm:
    """One drafter within one answer. Every committed token tells what it would have said."""

    def __init__(self, drafter: Free, acceptance: Acceptance) -> None:
        self.name = drafter.name
        self.acceptance = acceptance
        self._drafter = drafter

    def weigh(self, context: Tokens, at: Situation, best: Found) -> None:
        """Replace `best` by the best length, where that promises more than `best`."""
        outlook = self._drafter.outlook(context, self.acceptance.observe)
        rates, relative, most, limit = self.acceptance.rates, at.relative, at.most, at.limit
        worth, only, least_more = max(at.worth, _LEAST_WORTH), at.only, at.least_more
        survives = expected = 1.0
        most_sure = max(most, at.most_sure)
        first, is_mine, is_risky = -1, False, False
        for k, bucket in enumerate(outlook, start=1):
            if k > limit:
                break
            if first < 0:
                first = bucket
            survives *= rates[bucket]
            expected += survives
            cost = relative[k + 1]
            gain = expected - 1.0 - worth * (cost - 1.0)
            if gain > best.gain and (k == limit or not only):
                if cost <= (most_sure if expected - 1 >= _SURE * k else most):
                    is_mine = True
                    best.k, best.gain, best.tokens, best.cost = k, gain, expected, cost
                else:
                    is_risky = True
            if survives <= worth * least_more[CLASSES[k + 2]] or survives < NEGLIGIBLE:
                break
        if is_mine:
            best.drafter, best.reason, best.steering, best.n_read = self.name, "gain", None, 0
            best.bucket = self.acceptance.buckets[first].name
        elif is_risky and not best.k:
            best.reason = "guarded"
