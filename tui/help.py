"""The help page: every key and every command, from the tables that bind them."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from edgespec.chat.commands import COMMANDS

from .dialog import Dialog, words
from .keys import KEYS, Where

KEY_WIDTH = 28
_TITLES: dict[Where, str] = {
    "prompt": "Writing",
    "chat": "Everywhere",
    "turn": "On a turn (Tab, then j and k; Esc back to the prompt)",
}
MEANINGS = (
    ("draft ON/OFF/NONE", "is a drafter at work; NONE: none is loaded"),
    ("resting", "nothing was worth a draft lately: plain steps"),
    ("accept", "proposed tokens that the model agreed with"),
    ("by place", "the same for a draft's 1st, 2nd, ... token"),
    ("k", "tokens in the last draft, and on average"),
    ("plain", "measured speed without drafts, and the ratio"),
)


def help_words() -> Content:
    """Keys, then commands, then what the live lines mean."""
    rows: list[tuple[str, str]] = []
    for where, title in _TITLES.items():
        rows.append((f"{title}\n", "bold $text-primary"))
        rows += _table((key.shown, key.what) for key in KEYS if key.where == where and key.shown)
        rows.append(("\n", ""))
    rows.append(("Commands\n", "bold $text-primary"))
    rows += _table((entry.usage, entry.summary) for entry in COMMANDS.values())
    rows += _table([("//TEXT", "send a text that begins with /")])
    rows.append(("\nThe live lines\n", "bold $text-primary"))
    rows += _table(MEANINGS)
    return Content.assemble(*rows).rstrip()


def _table(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [
        cell
        for name, what in pairs
        for cell in ((f"{name:<{KEY_WIDTH}} ", "bold"), (f"{what}\n", ""))
    ]


class HelpScreen(Dialog[None]):
    """Any of Esc, F1, q, Enter closes it."""

    TITLE = "Help"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "close", "Close", show=False, priority=True),
    ]

    def parts(self) -> Iterable[Widget]:
        """Words that scroll."""
        yield VerticalScroll(words(help_words()), id="help")
