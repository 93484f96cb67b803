"""The controller of a draft model's passes: the target's own, one tier down.

There the draft model is what is sped up, guesses are the drafts, and a plain step is a pass for one
token. What it promises holds there too: a pass is longer than for one token only where the rows are
expected to spare more passes than they cost.
"""

from collections.abc import Mapping

from edgespec.control.acceptance import Usual
from edgespec.control.auto import Auto
from edgespec.control.costs import Costs
from edgespec.control.found import PLAIN, Found
from edgespec.control.log import Log
from edgespec.control.situation import Situation
from edgespec.core import Choice, Tokens
from edgespec.drafters.arms import Free, Paid
from edgespec.explanation import Decision

NAME = "cascade"


class Beneath(Auto):
    """Implements `core.Controller` for the drafts of one answer."""

    def __init__(
        self, free: list[Free], paid: list[Paid], costs: Costs, usual: Mapping[str, Usual]
    ) -> None:
        """`costs`: the draft model's passes as the target's, the next tier's as a draft's."""
        super().__init__(free, paid, costs, usual, _Unread(NAME, None, costs))

    def choose(self, context: Tokens, budget: int) -> Choice:
        """As `Auto` chooses; a draft's last token, behind which no row is wanted, says nothing of
        what pays."""
        if budget > 0:
            return super().choose(context, budget)
        self._found = Found()
        return Choice(PLAIN, 0)

    def _situation(self, context: int, budget: int) -> Situation:
        """What is read for later drafts pays back over all of them, not over this one."""
        at = super()._situation(context, budget)
        if not self._paid:
            return at
        left = max(self._usual_tokens - self._n_tokens, self._n_tokens / 2, at.left)
        return at._replace(left=left)


class _Unread(Log):
    """Nobody asks why: a draft has several such steps, which are told in sums (`guessed.Tally`)."""

    def add(self, decision: Decision) -> None:
        """Nothing is kept."""
