"""A box over the chat: what the other screens have in common."""

from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar

from rich.highlighter import Highlighter
from rich.text import Text as Cell
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from edgespec.text.clean import masked

from .glyphs import Glyphs
from .keys import HEIGHTS, WIDTHS

T = TypeVar("T")


class Masked(Highlighter):
    """For a field: what a terminal would take for a command is a sign; its value stays."""

    def highlight(self, text: Cell) -> None:
        """Replace the characters, each by one."""
        text.plain = masked(text.plain)


class Dialog(ModalScreen[T], Generic[T]):
    """A title, some parts, a line of keys; Esc closes it without a result."""

    TITLE = ""
    HINT = "Esc closes"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close", show=False)]

    def parts(self) -> Iterable[Widget]:
        """What stands in the box."""
        return ()

    def compose(self) -> ComposeResult:
        """The box."""
        with Vertical(classes="dialog") as box:
            box.border_title, box.border_subtitle = self.TITLE, self.HINT
            yield from self.parts()

    def on_mount(self) -> None:
        """Look like the chat below: with its ASCII signs, where it has them."""
        below = self.app.screen_stack[-2] if len(self.app.screen_stack) > 1 else None
        self.set_class(below is not None and below.has_class("-ascii"), "-ascii")

    def action_close(self) -> None:
        """Give up."""
        self.dismiss(None)


def words(text: object, **how: str) -> Static:
    """A text that is shown as it is."""
    return Static(text, markup=False, **how)  # type: ignore[arg-type]


def cut(cell: Cell, room: int, glyphs: Glyphs) -> None:
    """Shorten a table's cell to so many columns, with a sign for what is left out."""
    if cell.cell_len > room:
        cell.truncate(room - len(glyphs.ellipsis))
        cell.append(glyphs.ellipsis)
