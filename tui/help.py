"""The help page: every key and every command, from the tables that bind them."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from edgespec.chat.commands import help_lines

from .blocks import Blank, Block, Margin, Text
from .dialog import Dialog
from .keys import KEYS, Where
from .pages import Page

MAX_NAME = 26
_TITLES: dict[Where, str] = {
    "prompt": "Writing",
    "chat": "Everywhere",
    "turn": "On a turn (Tab, then j and k; Esc back to the prompt)",
    "models": "Models (F2)",
    "plan": "Plan (p there, or by name)",
    "chats": "Chats (F3)",
    "params": "Parameters (F4)",
    "log": "Log (F8)",
    "failed": "When a load or an answer failed",
}
_BEFORE: tuple[Where, ...] = ("prompt", "chat", "turn")
"""Before the commands; the keys of other screens after them."""
MEANINGS = (
    ("draft ON/OFF/NONE", "is a drafter at work; NONE: none is loaded"),
    ("AUTO-PAUSED", "no draft was worth its time lately; F5 forces one"),
    ("WARMING 5/8", "5 of the 8 plain steps that a ratio takes were seen"),
    ("forced", "a draft at every step, also where it does not pay (F5)"),
    ("accept", "proposed tokens that the model agreed with"),
    ("by place", "the same for a draft's 1st, 2nd, ... token"),
    ("k", "tokens in the last draft, and on average"),
    ("plain", "measured speed without drafts, and the ratio"),
)


def help_blocks() -> list[Block]:
    """The chat's keys, commands, other screens' keys, then what the live lines mean."""
    blocks: list[Block] = []
    for where in _BEFORE:
        blocks += _keys(where)
    blocks += _section("Commands", help_lines())
    for where in _TITLES:
        blocks += _keys(where) if where not in _BEFORE else []
    return [*blocks, *_section("The live lines", MEANINGS)][:-1]


def _keys(where: Where) -> list[Block]:
    keys = [(key.shown, key.what) for key in KEYS if key.where == where and key.shown]
    return _section(_TITLES[where], keys)


def _section(title: str, rows: Sequence[tuple[str, str]]) -> list[Block]:
    width = min(MAX_NAME, max(len(name) for name, _ in rows))
    table = [
        Text(what, Margin(f"{name:<{width}}  ", " " * (width + 2), "bold")) for name, what in rows
    ]
    return [Text(Content.styled(title, "bold $text-primary")), *table, Blank()]


class HelpScreen(Dialog[None]):
    """Any of Esc, F1, q, Enter closes it."""

    TITLE = "Help"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "close", "Close", show=False, priority=True),
    ]

    def parts(self) -> Iterable[Widget]:
        """Words that scroll."""
        yield VerticalScroll(Page(help_blocks()), id="help")
