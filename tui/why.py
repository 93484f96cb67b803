"""One answer's account: what was drafted and why, what it cost, what it brought."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from edgespec.chat.account import account
from edgespec.chat.commands import stats_text
from edgespec.chat.controller import ChatController, Turn
from edgespec.chat.turns import line_of
from edgespec.events import TokenText
from edgespec.explanation import Explanation
from edgespec.text.clean import clean

from . import lines
from .dialog import Dialog, words
from .glyphs import Glyphs
from .provenance import legend

MAX_DECISIONS = 40
ASKED_WIDTH = 70


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
        asked = line_of(clean(turn.prompt), ASKED_WIDTH)
        parts += [(f"{asked}\n\n", "bold"), stats_text(turn.stats), "\n"]
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
    parts: list[str | tuple[str, str]] = []
    for section in account(explanation, most_steps=MAX_DECISIONS, times=glyphs.times):
        parts += [(f"{section.title}\n", "bold $text-primary"), "\n".join(section.rows), "\n\n"]
    return Content.assemble(*parts).rstrip()
