"""One answer's account: what was drafted and why, what it cost, what it brought."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from edgespec.chat.commands import stats_text
from edgespec.chat.controller import ChatController, Turn
from edgespec.events import TokenText
from edgespec.explanation import Decision, Explanation, PassCost
from edgespec.text.clean import clean

from . import lines
from .dialog import Dialog, words
from .glyphs import Glyphs
from .provenance import legend

MAX_DECISIONS = 40


class WhyScreen(Dialog[None]):
    """Figures of one answer; for the last one, every decision too."""

    TITLE = "Why"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f9,q,enter", "close", "Close", show=False),
    ]

    def __init__(
        self, chat: ChatController, turn: Turn, tokens: Sequence[TokenText], glyphs: Glyphs
    ) -> None:
        super().__init__()
        self._chat, self._turn, self._tokens, self._glyphs = chat, turn, tokens, glyphs

    def parts(self) -> Iterable[Widget]:
        """One page that scrolls."""
        page = VerticalScroll(words(self._page()), id="page")
        yield page

    def _page(self) -> Content:
        turn, parts = self._turn, list[Content | str | tuple[str, str]]()
        parts += [(f"{clean(turn.prompt)[:70]}\n\n", "bold"), stats_text(turn.stats), "\n"]
        if self._tokens:
            parts += ["\n", ("Tokens by where they came from\n", "bold $text-primary")]
            parts += [by_source(self._tokens, self._glyphs), "\n", legend(self._glyphs), "\n"]
        explanation = self._explanation()
        if explanation is not None:
            parts += ["\n", explained(explanation, self._glyphs)]
        else:
            parts.append("\nThe decisions themselves are known of the last answer only.")
        return Content.assemble(*parts)

    def _explanation(self) -> Explanation | None:
        answered = [turn for turn in self._chat.conversation.tree.turns if turn.stats.passes]
        is_last = bool(answered) and max(answered, key=lambda t: t.created_s) is self._turn
        return self._chat.model.explain() if is_last and self._chat.model is not None else None


def by_source(tokens: Sequence[TokenText], glyphs: Glyphs) -> Content:
    """A bar for each source."""
    rows = []
    for source in ("accepted", "recovered", "bonus", "plain"):
        n = sum(token.source == source for token in tokens)
        if n:
            share = n / len(tokens)
            rows.append(f"{source:<10} {lines.bar(share, glyphs, 20)} {share:>4.0%}  {n}")
    return Content("\n".join(rows))


def explained(explanation: Explanation, glyphs: Glyphs) -> Content:
    """All of an explanation, in sections."""
    parts: list[Content | str | tuple[str, str]] = []
    for title, body in (
        ("What it bought", _bought(explanation, glyphs)),
        ("Ways to decode", _arms(explanation)),
        ("Why, step by step", _reasons(explanation)),
        ("The last steps", _decisions(explanation.decisions)),
        ("What a pass costs", _costs(explanation.costs)),
    ):
        if body:
            parts += [(f"{title}\n", "bold $text-primary"), f"{body}\n\n"]
    return Content.assemble(*parts).rstrip()


def _bought(explanation: Explanation, glyphs: Glyphs) -> str:
    rows = [f"{explanation.tokens} tokens in {explanation.steps} steps, {explanation.took_s:.2f} s"]
    if explanation.plain_s and explanation.speedup:
        times = f"{explanation.speedup:.2f}{glyphs.times}"
        rows.append(f"plainly about {explanation.plain_s:.2f} s: {times}")
    if (bound := explanation.bound) is not None:
        used = f"{bound.ledger_s:.2f} s of that are used"
        gained = f"it is {-bound.ledger_s:.2f} s ahead"
        rows.append(
            f"bound: at most {bound.share:.0%} over plain and {bound.head_start_s:.2f} s; "
            f"{used if bound.ledger_s > 0 else gained}"
        )
    return "\n".join(rows)


def _arms(explanation: Explanation) -> str:
    rows = []
    for arm in explanation.arms:
        note = f"  ({arm.note})" if arm.note else ""
        drafted = f", {arm.accepted} of {arm.drafted} accepted" if arm.drafted else ""
        name = "plain" if arm.drafter == "none" else arm.drafter
        rows.append(f"{name:<13}{arm.steps} steps, {arm.tokens} tokens{drafted}{note}")
        rows += [f"  {kind.bucket:<14}{kind.rate:>5.0%} come true" for kind in arm.acceptance]
    return clean("\n".join(rows))


def _reasons(explanation: Explanation) -> str:
    return "\n".join(f"{n:>6}  {reason}" for n, reason in explanation.reasons_in_words)


def _decisions(decisions: Sequence[Decision]) -> str:
    if not decisions:
        return ""
    rows = ["  step  drafter       k  took  why        tokens: hoped, got"]
    first = max(0, len(decisions) - MAX_DECISIONS)
    for i, made in enumerate(decisions[first:], first + 1):
        name = "plain" if made.drafter == "none" else made.drafter
        rows.append(
            f"{i:>6}  {name:<12}{made.k:>3}{made.accepted:>6}  {made.reason:<10}"
            f"{made.expected_tokens:>6.1f}{made.tokens:>5}   {made.bucket}"
        )
    return clean("\n".join(rows))


def _costs(costs: Sequence[PassCost]) -> str:
    rows = [f"{c.rows:>4} rows {1000 * c.measured_s:>8.1f} ms at load, {1000 * c.now_s:.1f} now"
            for c in costs]  # fmt: skip
    return "\n".join(rows)
