"""What was chosen, kept for `explain()`: the last steps one by one, all of them in sums."""

from collections.abc import Callable, Mapping

from edgespec.control.acceptance import Acceptance
from edgespec.control.costs import Costs
from edgespec.control.ledger import SHARE, Ledger
from edgespec.explanation import Acceptance as Seen
from edgespec.explanation import Arm, Bound, Decision, Explanation, PassCost, Reason

_KEPT = 512
_TELLING = (1, 2, 3, 4, 6, 8, 9, 12, 16, 17, 24, 32, 33, 48, 64)
_Sums = tuple[int, int, int, int, float]
"""Steps, drafted, accepted and committed tokens, seconds."""
_NONE: _Sums = (0, 0, 0, 0, 0.0)
_LEAST_SEEN = 0.5
"""Observations from which on an estimate is worth showing."""


class Log:
    """Of one answer. Written by the engine's thread; `explanation` may be asked for by any."""

    def __init__(self, drafter: str, draft_len: int | None, costs: Costs, note: str = "") -> None:
        self._drafter = drafter
        self._draft_len = draft_len
        self._costs = costs
        self._note = note
        self._decisions: list[Decision] = []
        self._sums: dict[str, _Sums] = {"none": _NONE}
        """By drafter; replaced at each step, so that any thread reads those of one moment."""
        self._reasons: dict[Reason, int] = {}
        self._plain_s = 0.0
        self._acceptance: Mapping[str, Acceptance] = {}
        self._ledger: Ledger | None = None
        self._unused: Callable[[], Mapping[str, str]] = dict

    def watch(
        self,
        acceptance: Mapping[str, Acceptance],
        ledger: Ledger,
        unused: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """What a controller learns, to be shown as it is when somebody asks; `unused` says by
        drafter why it is left out."""
        self._acceptance, self._ledger, self._unused = acceptance, ledger, unused
        known = self._sums  # of the steps before, where the controller comes into an answer late
        self._sums = dict.fromkeys(("none", *acceptance), _NONE) | known

    def add(self, decision: Decision) -> None:
        """One step."""
        self._decisions.append(decision)
        if len(self._decisions) >= 2 * _KEPT:
            self._decisions = self._decisions[-_KEPT:]
        reasons = self._reasons
        reasons[decision.reason] = reasons.get(decision.reason, 0) + 1
        self._plain_s += decision.expected_plain_s * decision.tokens
        steps, drafted, accepted, tokens, took_s = self._sums.get(decision.drafter, _NONE)
        self._sums[decision.drafter] = (
            steps + 1,
            drafted + decision.drafted,
            accepted + decision.accepted,
            tokens + decision.tokens,
            took_s + decision.took_s,
        )

    def explanation(self, notes: Mapping[str, str] | None = None) -> Explanation:
        """So far; `notes` say by drafter why it is not used."""
        decisions = tuple(self._decisions[-_KEPT:])
        known = {"model": self._note, "cascade": self._note, **self._unused(), **(notes or {})}
        arms = tuple(
            Arm(name, *sums, acceptance=self._seen(name), note=known.get(name, ""))
            for name, sums in tuple(self._sums.items())
        )
        steps = sum(arm.steps for arm in arms)
        draft = self._costs.draft
        return Explanation(
            drafter=self._drafter,
            draft_len=self._draft_len,
            arms=arms,
            decisions=decisions,
            costs=self._pass_costs(decisions[-1].context if decisions else 0),
            draft_token_s=draft.token_s if draft else None,
            draft_read_s=draft.read_s if draft else None,
            steps=steps,
            tokens=sum(arm.tokens for arm in arms),
            took_s=sum(arm.took_s for arm in arms),
            plain_s=self._plain_s if steps else None,
            bound=self._bound(decisions),
            reasons=dict(self._reasons),
        )

    def _seen(self, drafter: str) -> tuple[Seen, ...]:
        acceptance = self._acceptance.get(drafter)
        if acceptance is None:
            return ()
        return tuple(
            Seen(bucket.name, acceptance.rates[i], acceptance.seen(i))
            for i, bucket in enumerate(acceptance.buckets)
            if acceptance.seen(i) >= _LEAST_SEEN
        )

    def _pass_costs(self, context: int) -> tuple[PassCost, ...]:
        target = self._costs.target
        rows = [n for n in _TELLING if n < len(target.relative)]
        return tuple(
            PassCost(n, target.measured.of(n), target.relative[n] * target.plain_at(context))
            for n in rows
        )

    def _bound(self, decisions: tuple[Decision, ...]) -> Bound | None:
        if self._ledger is None:
            return None
        plain_s = decisions[-1].expected_plain_s if decisions else self._costs.target.plain_s
        return Bound(SHARE, self._ledger.head_start * plain_s, self._ledger.balance * plain_s)
