"""The help page: every key and every command."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from edgespec.chat.commands import COMMANDS

KEYS = (
    ("Enter", "send; a \\ before it breaks the line"),
    ("Ctrl+J, Alt+Enter", "new line"),
    ("Up, Down", "earlier messages, at the prompt's edges"),
    ("Esc", "stop the answer, keep its text"),
    ("Ctrl+C", "copy, else stop, else clear, else quit"),
    ("F5", "draft on or off for the next answers"),
    ("Ctrl+T", "thinking on or off"),
    ("Ctrl+O", "fold or unfold the reasoning"),
    ("Ctrl+N", "new chat"),
    ("F7", "side panel, from 100 columns on"),
    ("PgUp/PgDn, Ctrl+Up/Down", "scroll"),
    ("Ctrl+End", "to the newest text"),
    ("Ctrl+P", "themes and more"),
    ("Ctrl+Q", "quit"),
)
KEY_WIDTH = 26


def help_words() -> Content:
    """Keys, then commands, then what the live lines mean."""
    rows: list[tuple[str, str]] = []
    for key, what in KEYS:
        rows += [(f"{key:<{KEY_WIDTH}} ", "bold"), (f"{what}\n", "")]
    rows.append(("\n", ""))
    for entry in COMMANDS.values():
        rows += [(f"{entry.usage:<{KEY_WIDTH}} ", "bold"), (f"{entry.summary}\n", "")]
    rows += [(f"{'//TEXT':<{KEY_WIDTH}} ", "bold"), ("send a text that begins with /\n", "")]
    return Content.assemble(*rows, MEANINGS)


MEANINGS = """
draft ON/OFF/NONE   is a drafter at work; NONE: none is loaded
accept              proposed tokens that the model agreed with
by place            the same for a draft's 1st, 2nd, ... token
plain               measured speed without drafts, and the ratio"""


class HelpScreen(ModalScreen[None]):
    """Any of Esc, F1, q, Enter closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "dismiss", "Close", show=False),
    ]

    def compose(self) -> ComposeResult:
        """A box that scrolls."""
        box = VerticalScroll(Static(help_words()), id="help")
        box.border_title = "Help"
        box.border_subtitle = "Esc closes"
        yield box
