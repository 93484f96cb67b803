"""The controller behind "auto": at each step the draft with the most tokens for its time.

Arms are all drafters with every length, trees of every size, and plain decoding. What drafts cost
is measured, how often they come true is learned, what a moment is worth follows from the speed of
late, and the ledger bounds what all that may lose. Times are in plain steps, so that only
proportions count.

Source: Dinkelbach 1967 for maximising a ratio by differences; full information about drafters that
cost nothing as in "Not-a-Bandit" (ICLR 2026).
"""

from collections.abc import Mapping, Sequence

from edgespec.control.acceptance import Acceptance, Usual
from edgespec.control.branch_arm import BranchArm
from edgespec.control.costs import LONGEST, Costs
from edgespec.control.found import Found
from edgespec.control.free_arm import FreeArm
from edgespec.control.ledger import Ledger
from edgespec.control.log import Log
from edgespec.control.paid_arm import PaidArm
from edgespec.control.situation import UNKNOWN, Situation
from edgespec.core import Choice, Tokens
from edgespec.drafters.arms import Branching, Free, Paid
from edgespec.events import Step
from edgespec.explanation import Decision

_WINDOW = 0.9
"""What a step leaves of the older ones in the speed of late: about ten count."""
_FORESEEN = 30.0
"""Plain steps that the pace of a draft model counts for beside the speed of late: where a long copy
ended, time is worth what comes next and not what was."""
_CHEAPER = 1.5
"""What time's worth is divided by where no draft is worth it: a step that is faster than a plain
one is better than none, for no token can be had elsewhere."""
_STALE = 200
"""Steps after which a plain one is taken, to know what it costs now."""
_UNCONFIRMED = 6
"""The same before plain steps have confirmed a doubtful measurement."""
_LEAST_LEFT = 16.0
USUAL_TOKENS = 200.0
"""How long answers are, where nothing is known of them."""


class Auto:
    """Implements `core.Controller` for one answer."""

    def __init__(
        self,
        free: Sequence[Free],
        paid: Sequence[Paid],
        costs: Costs,
        usual: Mapping[str, Usual],
        log: Log,
        *,
        branching: Sequence[Branching] = (),
        draft_len: int | None = None,
        max_tokens: int | None = None,
        usual_tokens: float = USUAL_TOKENS,
    ) -> None:
        """`usual`: counts by drafter; `draft_len` None: any length up to `LONGEST`."""
        names = [drafter.name for drafter in free]
        names += [drafter.name for drafter in paid]
        names += [drafter.name for drafter in branching]
        acceptance = {name: Acceptance(usual[name]) for name in names}
        self._free = [FreeArm(drafter, acceptance[drafter.name]) for drafter in free]
        self._paid = [PaidArm(drafter, acceptance[drafter.name]) for drafter in paid]
        self._branching = [BranchArm(drafter, acceptance) for drafter in branching]
        self._costs = costs
        self.log = log
        self._draft_len = draft_len
        self._usual_tokens = usual_tokens
        self.ledger = Ledger(costs.target.relative, max_tokens)
        self._late_tokens = self._late_cost = 0.0
        self._n_tokens = 0
        self._since_plain = 0
        self._found = Found()
        self._worth = 1.0
        self._plain_s = costs.target.plain_s
        log.watch(acceptance, self.ledger, self._unused)

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The most promising draft that the ledger permits, or none."""
        at = self._situation(len(context), budget)
        best = Found()
        for free in self._free:
            free.weigh(context, at, best)
        for paid in self._paid:
            paid.weigh(context, at, best)
        if not best.k and not best.n_read and at.worth > 1:
            self._weigh_again(context, at.priced(max(1.0, at.worth / _CHEAPER)), best)
        for branching in self._branching:
            branching.weigh(context, at, best)
        if best.k and self._since_plain >= self._stale:
            best = Found(reason="refresh")
        self._found = best
        return Choice(best.drafter, best.k, best.steering, best.n_read)

    def observe(self, step: Step) -> None:
        """Learn what it cost and which tokens came true."""
        found, costs = self._found, self._costs
        n_passes: int = 0
        buckets: Sequence[int] = ()
        if found.steering is not None:
            n_passes, buckets = found.steering.n_passes, found.steering.buckets
        for arm in self._paid:
            arm.observe(found.drafter, buckets, step)
        for branching in self._branching:
            branching.observe(found, step)
        if costs.is_live:
            _follow(costs, step, n_passes, found)
            cost = step.step_s / self._plain_s
            if step.rows == 1 and not (n_passes or found.n_read):
                # What held its pass up would have held up plain decoding; choosing is ours.
                cost = 1.0 + step.draft_s / self._plain_s
        else:
            cost = self._foreseen(step, n_passes)
        n = len(step.tokens)
        self.ledger.add(cost, n)
        self._late_tokens = _WINDOW * self._late_tokens + n
        self._late_cost = _WINDOW * self._late_cost + cost
        self._n_tokens += n
        self._since_plain = self._since_plain + 1 if step.drafted or found.n_read else 0
        self.log.add(self._decision(step, cost))

    def _weigh_again(self, context: Tokens, at: Situation, best: Found) -> None:
        """At a cheaper price: what a draft model brings, for it is what the price leans on; where
        none can help, what the text itself brings."""
        arms = [paid for paid in self._paid if paid.pace] or self._free
        for arm in arms:
            arm.weigh(context, at, best)

    def _unused(self) -> dict[str, str]:
        return {arm.name: arm.note for arm in self._branching}

    @property
    def _stale(self) -> int:
        """Steps after which a plain one is due: few where the measurement is in doubt."""
        costs = self._costs
        return _UNCONFIRMED if costs.is_doubtful and not costs.target.is_plain_known else _STALE

    def _situation(self, context: int, budget: int) -> Situation:
        costs, draft = self._costs, self._costs.draft
        self._plain_s = plain_s = costs.target.plain_at(context)
        pace = max((arm.pace for arm in self._paid), default=0.0)
        ahead = _FORESEEN if pace else 0.0
        tokens, cost = self._late_tokens + ahead * pace, self._late_cost + ahead
        self._worth = max(1.0, tokens / cost) if cost else 1.0
        longest = LONGEST if self._draft_len is None else self._draft_len
        left = max(self._usual_tokens - self._n_tokens, self._n_tokens / 2, _LEAST_LEFT)
        return Situation(
            costs.target.relative,
            self._worth,
            self.ledger.most(),
            min(longest, budget),
            only=self._draft_len is not None,
            most_sure=self.ledger.most(is_sure=True),
            left=min(left, budget + 1),
            token_cost=draft.token_s / plain_s if draft else 0.0,
            read_cost=draft.read_s / plain_s if draft else 0.0,
            least_more=UNKNOWN if self._draft_len is not None else costs.target.least_more(),
        )

    def _foreseen(self, step: Step, n_passes: int) -> float:
        """What the step costs by the curve alone: the same in every run."""
        found, draft = self._found, self._costs.draft
        n_drafted = found.k if found.is_tree else step.drafted
        cost = self._costs.target.relative[n_drafted + 1]
        if draft is not None:
            draft_s = n_passes * draft.token_s + found.n_read * draft.read_s
            cost += draft_s / self._plain_s
        return cost

    def _decision(self, step: Step, cost: float) -> Decision:
        found, plain_s = self._found, self._plain_s
        return Decision(
            step.context,
            found.drafter,
            found.k,
            found.reason,
            found.bucket,
            found.tokens,
            found.cost * plain_s,
            plain_s,
            self._worth / plain_s,
            step.drafted,
            step.accepted,
            len(step.tokens),
            cost * plain_s,
            self.ledger.balance * plain_s,
        )


def _follow(costs: Costs, step: Step, n_passes: int, found: Found) -> None:
    """Let measured costs follow what the step took."""
    n_drafted, n_read = found.k if found.is_tree else step.drafted, found.n_read
    if step.rows == n_drafted + 1:  # else it also read what it had lost
        costs.target.observe(step.rows, step.step_s - step.draft_s, step.context)
    if costs.draft is not None and n_passes:
        costs.draft.observe_tokens(n_passes, step.draft_s)
    elif costs.draft is not None and n_read:
        costs.draft.observe_read(n_read, step.draft_s)
