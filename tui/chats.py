"""The saved chats: a list, a search through every word, a look at what a chat says."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import ClassVar

from rich.text import Text as Cell
from textual import work
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static

from edgespec.chat.controller import ChatController
from edgespec.errors import EdgespecError
from edgespec.history.records import ChatSummary, Hit
from edgespec.text.clean import clean

from .dialog import Dialog, Masked, cut, words
from .glyphs import Glyphs
from .keys import bindings

PREVIEW_CHARS = 600
MAX_WIDTH, MIN_ROOM = 100, 20
AROUND = 18
"""Columns of a row that neither its title nor its text has."""
TITLE_SHARE = 0.4
MAX_ROWS = 200


class ChatsScreen(Dialog[str]):
    """Type to search; Enter opens what is chosen. Ends with the id of a turn that was found."""

    TITLE = "Chats"
    HINT = "Enter opens, ^D deletes, ^U undoes, ^E exports, Esc"
    BINDINGS: ClassVar[list[BindingType]] = bindings("chats")

    def __init__(self, chat: ChatController, glyphs: Glyphs) -> None:
        super().__init__()
        self._chat, self._glyphs = chat, glyphs
        self._found: list[ChatSummary | Hit] = []

    def parts(self) -> Iterable[Widget]:
        """A field, a table, a preview."""
        waits = "words in any turn; empty: the latest chats"
        field = Input(placeholder=waits, highlighter=Masked(), id="words")
        field.cursor_blink = False
        yield field
        yield DataTable(id="found", cursor_type="row", show_header=False)
        yield words("", id="preview")

    def on_mount(self) -> None:
        """Show the latest chats."""
        super().on_mount()
        self._table.add_columns("when", "chat", "what")
        self.query_one(Input).focus()
        self._look("")

    @property
    def _table(self) -> "DataTable[Cell]":
        return self.query_one("#found", DataTable)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search as it is typed."""
        self._look(event.value)

    def on_input_submitted(self) -> None:
        """Open what is chosen."""
        self._open()

    def on_data_table_row_selected(self) -> None:
        """A click, or Enter in the table."""
        self._open()

    @work(exclusive=True, group="look")
    async def _look(self, wanted: str) -> None:
        chats, text, failed = self._chat.chats, wanted.strip(), ""
        try:
            self._found = [*(chats.search(text) if text else chats.all())][:MAX_ROWS]
        except EdgespecError as error:
            self._found, failed = [], clean(f"{error.message}\n{error.hint}")
        table = self._table
        table.clear()
        for found in self._found:
            table.add_row(*self._cells(found))
        if failed:
            self._say(failed)
        elif self._found:
            self._preview(0)
        elif text:
            self._say(f"no chat has the words '{clean(text)}'")
        else:
            self._say("no chat is saved yet")

    def _cells(self, found: ChatSummary | Hit) -> list[Cell]:
        when = Cell(_when(found.updated_s), "dim")
        room = max(MIN_ROOM, min(self.app.size.width, MAX_WIDTH) - AROUND)
        title = Cell(clean(found.title) or "(without a title)")
        cut(title, int(TITLE_SHARE * room), self._glyphs)
        title.pad_right(int(TITLE_SHARE * room) - title.cell_len)
        room -= title.cell_len
        if isinstance(found, ChatSummary):
            turns = "1 turn" if found.n_turns == 1 else f"{found.n_turns} turns"
            told = Cell(clean(f"{turns}  {found.target}"), "dim")
            cut(told, room, self._glyphs)
            return [when, title, told]
        return [when, title, _excerpt(found, room, self._glyphs)]

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Show the beginning of it."""
        self._preview(event.cursor_row)

    def _preview(self, row: int) -> None:
        if row >= len(self._found):
            return
        found = self._found[row]
        if isinstance(found, Hit):
            who = "you" if found.role == "user" else "the answer"
            self._say(clean(f"{who}: {found.excerpt}"))
            return
        try:
            text = self._chat.chats.beginning(found.id, PREVIEW_CHARS)
        except EdgespecError as error:
            text = error.message
        self._say("\n".join(row for row in clean(text).split("\n") if row.strip()))

    def _say(self, text: str) -> None:
        self.query_one("#preview", Static).update(Content(text))

    def _chosen(self) -> ChatSummary | Hit | None:
        row = self._table.cursor_row
        return self._found[row] if 0 <= row < len(self._found) else None

    def _chosen_id(self) -> str | None:
        found = self._chosen()
        return found.chat_id if isinstance(found, Hit) else found.id if found else None

    def _open(self) -> None:
        found = self._chosen()
        if found is None:
            return
        try:
            if isinstance(found, Hit):
                self._chat.chats.open_turn(found)
            else:
                self._chat.chats.open(found.id)
        except EdgespecError as error:
            self._say(clean(f"error: {error.message}\n{error.hint}"))
            return
        self.dismiss(found.turn_id if isinstance(found, Hit) else "")

    def action_move(self, by: int) -> None:
        """Move the choice without leaving the field."""
        self._table.move_cursor(row=max(0, self._table.cursor_row + by))

    def action_delete(self) -> None:
        """Delete the chosen chat."""
        if (chat_id := self._chosen_id()) is not None:
            self._change(lambda: self._chat.chats.delete(chat_id), "deleted; Ctrl+U brings it back")

    def action_undelete(self) -> None:
        """Bring back what was deleted last."""
        self._change(self._chat.chats.undelete, "it is back")

    def action_export(self) -> None:
        """Write the chosen chat into a file, as markdown."""
        if (chat_id := self._chosen_id()) is not None:
            try:
                path = self._chat.chats.export("md", chat_id=chat_id)
            except EdgespecError as error:
                self.notify(clean(error.message), severity="error", markup=False)
                return
            self.notify(f"written: {path}", markup=False)

    def _change(self, act: Callable[[], object], said: str) -> None:
        try:
            act()
        except EdgespecError as error:
            self._say(clean(f"error: {error.message}\n{error.hint}"))
            return
        self.notify(said, timeout=4)
        self._look(self.query_one(Input).value)

    def action_close(self) -> None:
        """Back; what is shown may have been deleted."""
        self.dismiss("")


def _when(updated_s: float) -> str:
    then, now = datetime.fromtimestamp(updated_s), datetime.now()
    if then.date() == now.date():
        return f"{then:%H:%M}"
    return f"{then:%d %b}" if then.year == now.year else f"{then:%b %Y}"


def _excerpt(hit: Hit, room: int, glyphs: Glyphs) -> Cell:
    """The part of it that shows the first match, which is marked like the others."""
    cell = Cell(clean(hit.excerpt).replace("\n", " "))
    if clean(hit.excerpt) == hit.excerpt:  # else the places would be others
        for start, end in hit.spans:
            cell.stylize("bold underline", start, end)
        if hit.spans and cell.cell_len > room:
            cell = cell[max(0, hit.spans[0][0] - room // 3) :]
    cut(cell, room, glyphs)
    return cell
