"""One drafter and one length for every step: what a person sets, and what replays compare with."""

from edgespec.control.costs import Costs
from edgespec.control.log import Log
from edgespec.core import Choice, Tokens
from edgespec.events import Step
from edgespec.explanation import Decision


class Fixed:
    """Always the same choice."""

    def __init__(
        self,
        drafter: str,
        draft_len: int,
        costs: Costs | None = None,
        log: Log | None = None,
    ) -> None:
        """`costs` follow what steps take, where they are live; `log` hears of every step."""
        self._drafter = drafter
        self._draft_len = draft_len
        self._costs = costs
        self._log = log

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The drafter, with at most `budget` tokens."""
        return Choice(self._drafter, min(self._draft_len, budget))

    def observe(self, step: Step) -> None:
        """Let the costs follow; nothing else is learned."""
        costs = self._costs
        if costs is None:
            return
        plain_s = costs.target.plain_at(step.context)
        is_pure = step.rows == step.drafted + 1 < len(costs.target.relative)
        if costs.is_live and is_pure:  # else it also read what it had lost
            costs.target.observe(step.rows, step.step_s - step.draft_s, step.context)
        if self._log is not None:
            self._log.add(self._decision(step, plain_s, costs))

    def _decision(self, step: Step, plain_s: float, costs: Costs) -> Decision:
        rows = min(step.drafted + 1, len(costs.target.relative) - 1)
        expected_s = plain_s * costs.target.relative[rows]
        return Decision(
            context=step.context,
            drafter=self._drafter if step.drafted else "none",
            k=self._draft_len,
            reason="fixed",
            bucket="",
            expected_tokens=1.0,
            expected_s=expected_s,
            expected_plain_s=plain_s,
            rate=1 / plain_s,
            drafted=step.drafted,
            accepted=step.accepted,
            tokens=len(step.tokens),
            took_s=step.step_s if costs.is_live else expected_s,
            ledger_s=0.0,
        )
