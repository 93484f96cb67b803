"""The picker: a target, how to draft for it, and fetching what is not here, on the same screen."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, TypeVar

from rich.text import Text as Cell
from textual import work
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key, Resize
from textual.widget import Widget
from textual.widgets import DataTable, Static

from edgespec.chat.shelf import ModelChange
from edgespec.errors import EdgespecError
from edgespec.sizes import gigabytes
from edgespec.text.clean import clean

from . import lines
from .dialog import Dialog, cut, words
from .glyphs import Glyphs
from .keys import bindings
from .offers import OFF, DraftRow, Row, missing
from .shelf import Models

REFRESH_S = 0.25
REST_S = 0.3
"""The cursor has to rest so long before files are read for a target's drafts."""
TARGETS, DRAFTS = "targets", "drafts"
CLOSING = ("escape", "f2")
"""Keys that need no table."""
NO_MODEL = "There is no model on this machine yet"
MAX_NAME = 28
NOT_NARROW = (2, 4)
"""The columns for which a small screen has no room: the quantisation, whether it is here."""
NOT_NARROW_DRAFT = (2, 3)
"""Of a draft: its size, whether it is here."""
MAX_WIDTH, MIN_TOLD = 100, 8
AROUND = 7
"""Columns of a dialog's frame, its scrollbar, and the space beside a row's last cell."""
SHORTEST = Cell("here")
"""A column is as wide as its head."""

C = TypeVar("C")


class ModelsScreen(Dialog[ModelChange]):
    """Two tables. Enter on a target goes to its drafts; Enter there takes both."""

    TITLE = "Models"
    HINT = "Enter chooses, Tab drafts, p plan, x stops, Esc back"
    BINDINGS: ClassVar[list[BindingType]] = bindings("models")

    def __init__(self, models: Models, glyphs: Glyphs, loaded: tuple[str, str] = ("", "")) -> None:
        super().__init__()
        self._models, self._glyphs, self._loaded = models, glyphs, loaded
        self._rows: list[Row] = []
        self._early: list[Key] | None = []
        """Keys for the tables, until they are filled; None: they are."""
        self._drafts: list[DraftRow] = []
        self._wanted: ModelChange | None = None
        """What is taken as soon as everything for it is here."""

    def parts(self) -> Iterable[Widget]:
        """Models, drafts, where from, progress."""
        lead = f"{NO_MODEL}." if self._models.must_choose else f"looking{self._glyphs.ellipsis}"
        yield words(lead, classes="lead", id="lead")
        yield DataTable(id=TARGETS, cursor_type="row", zebra_stripes=False)
        yield words("Draft", classes="lead")
        yield DataTable(id=DRAFTS, cursor_type="row", zebra_stripes=False)
        yield Vertical(words("", id="about"), words("", id="fetch"), id="foot")

    def _lead(self) -> str:
        free = f"{gigabytes(self._models.free_bytes)} of memory are free"
        if self._models.must_choose:
            return f"{NO_MODEL}: choose one. {free}."
        return free

    def on_mount(self) -> None:
        """On the screen at once: the first time, what fills it is imported and reckoned."""
        super().on_mount()
        self._width = self.app.size.width
        self._lay_out()
        self._fill()

    @work(exclusive=True, group="fill")
    async def _fill(self) -> None:
        """Fill the tables; show a download that is running."""
        self._rows, lead = await asyncio.to_thread(lambda: (self._models.rows(), self._lead()))
        self.query_one("#lead", Static).update(Content(lead))
        self._lay_out()
        if self._rows:
            names = [row.name for row in self._rows]
            at = names.index(self._loaded[0]) if self._loaded[0] in names else 0
            self._table(TARGETS).move_cursor(row=at)
            self._show_drafts(self._models.drafts(self._rows[at]))
        self.set_focus(self._table(TARGETS))
        self.set_interval(REFRESH_S, self._follow_fetch)
        self._follow_fetch()
        keys, self._early = self._early, None
        for key in keys or ():
            self.app.post_message(Key(key.key, key.character))

    def on_key(self, event: Key) -> None:
        """Who knows the way need not wait for the tables."""
        if self._early is not None and event.key not in CLOSING:
            event.stop()
            self._early.append(event)

    def on_resize(self, event: Resize) -> None:
        """Other columns have room."""
        if event.size.width != self._width:
            self._width = event.size.width
            row = self._table(TARGETS).cursor_row
            self._lay_out()
            self._table(TARGETS).move_cursor(row=row)
            self._show_drafts(self._drafts)

    def _lay_out(self) -> None:
        """Both tables' columns, and the targets."""
        table = self._table(TARGETS)
        table.clear(columns=True)
        heads = (" ", "model", "quant", "size", "here", "tok/s", "fits")
        table.add_columns(*self._shown(heads, NOT_NARROW))
        for row in self._rows:
            table.add_row(*self._shown(self._cells(row), NOT_NARROW))
        _draw_again(table)
        drafts = self._table(DRAFTS)
        drafts.clear(columns=True)
        drafts.add_columns(*self._shown((" ", "draft", "size", "here", "why"), NOT_NARROW_DRAFT))

    def _shown(self, cells: Sequence[C], left_out: tuple[int, ...]) -> list[C]:
        """The columns for which there is room."""
        is_narrow = self._width < lines.NARROW
        return [cell for i, cell in enumerate(cells) if not (is_narrow and i in left_out)]

    def _table(self, name: str) -> "DataTable[Cell]":
        return self.query_one(f"#{name}", DataTable)

    def _cells(self, row: Row) -> list[Cell]:
        glyphs = self._glyphs
        mark = glyphs.mark if row.name == self._loaded[0] else " "
        told = row.verdict
        if self._width < lines.NARROW:
            told = told.partition(",")[0]  # how much is free stands above
        verdict = f"{glyphs.accepted if row.fits else glyphs.rejected} {told}"
        size = gigabytes(row.size_bytes) if row.size_bytes else "?"
        style = "" if row.fits else "dim"
        here = "yes" if row.is_here else "-"
        name = clean(row.name)[: MAX_NAME - 4 * (self._width < lines.NARROW)]
        cells = (mark, name, clean(row.quant), size, here, speed_words(row), verdict)
        return [Cell(cell, style) for cell in cells]

    def _show_drafts(self, drafts: list[DraftRow]) -> None:
        table, at = self._table(DRAFTS), self._table(DRAFTS).cursor_row
        before = self._drafts[at].name if 0 <= at < len(self._drafts) else ""
        self._drafts = drafts
        table.clear()
        rows = [self._shown(self._draft_cells(draft), NOT_NARROW_DRAFT) for draft in drafts]
        others = [*zip(*rows, strict=True)][:-1]
        widths = (max(cell.cell_len for cell in (*column, SHORTEST)) + 2 for column in others)
        room = max(MIN_TOLD, min(self._width, MAX_WIDTH) - AROUND - sum(widths))
        for row in rows:
            cut(row[-1], room, self._glyphs)
            table.add_row(*row)
        names = [draft.name for draft in drafts]
        table.move_cursor(row=names.index(before) if before in names else 0)
        _draw_again(table)

    def _draft_cells(self, draft: DraftRow) -> list[Cell]:
        sign = self._glyphs.accepted if draft.ok else self._glyphs.rejected
        if (self._target().name, draft.name) == self._loaded:
            sign = self._glyphs.mark
        size = gigabytes(draft.size_bytes) if draft.size_bytes else ""
        here = "yes" if draft.is_here else "-"
        cells = (
            sign,
            clean(draft.name)[:MAX_NAME],
            size if draft.ok else "",
            here if size else "",
            draft.told,
        )
        return [Cell(clean(cell), "" if draft.ok else "dim") for cell in cells]

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Another target: its drafts, and where it comes from. A draft: all that is said of it."""
        if event.data_table.id == TARGETS and self._rows:
            row = self._rows[event.cursor_row]
            self._show_drafts(self._models.drafts(row))
            self._judge_drafts(row)
            self._tell_target(row)
        elif self._table(DRAFTS).has_focus:
            self._tell_draft()

    def on_descendant_focus(self) -> None:
        """The other table: what is said of its row."""
        if self._table(DRAFTS).has_focus:
            self._tell_draft()
        elif self._rows:
            self._tell_target(self._target())

    def _tell_target(self, row: Row) -> None:
        self._say_about(f"{row.told}\ntok/s: {speed_told(row)}; {row.verdict}")

    def _tell_draft(self) -> None:
        at = self._table(DRAFTS).cursor_row
        if 0 <= at < len(self._drafts):
            self._say_about(f"{self._drafts[at].name}: {self._drafts[at].told}")

    def _say_about(self, told: str) -> None:
        self.query_one("#about", Static).update(Content(clean(told)))

    @work(exclusive=True, group="judge")
    async def _judge_drafts(self, row: Row) -> None:
        """Look at the files of a target that the cursor rests on."""
        await asyncio.sleep(REST_S)
        try:
            judged = await asyncio.to_thread(self._models.judged, row)
        except EdgespecError as error:
            self._say_about(f"{row.name}: {error.message}")
            return
        if self._target() is row:
            self._show_drafts(judged)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """A target: on to its drafts. A draft: take both."""
        if event.data_table.id == TARGETS:
            self._table(DRAFTS).focus()
            return
        draft = self._drafts[event.cursor_row]
        if not draft.ok:
            self.notify(f"{draft.name}: {draft.told}", timeout=4, markup=False)
            return
        target = self._target().name
        lacks = missing(self._rows, target) or missing(self._drafts, draft.name)
        if self._models.must_choose or lacks:
            self._show_plan(target, draft.name)
        else:
            self._take_plan(ModelChange(target, draft.name))

    def _advance(self) -> None:
        """Fetch what is missing, one after the other; then take it."""
        wanted = self._wanted
        if wanted is None or self._models.is_fetching:
            return
        for rows, name in ((self._rows, wanted.target), (self._drafts, wanted.draft)):
            if name and missing(rows, name):
                self._models.start(self._models.catalogue.models[name])
                return
        if self.is_active:  # else Textual would take the page above away; it is looked at again
            self._wanted = None
            self.dismiss(wanted)

    def _follow_fetch(self) -> None:
        fetch = self._models.fetch
        shown = self.query_one("#fetch", Static)
        if fetch is None:
            self._advance()
            return
        if not fetch.is_done:
            resumed = fetch.resumed_bytes
            line = lines.fetching(fetch.spec.id, fetch.progress, self._glyphs, resumed)
            left = f" {self._glyphs.dot} {gigabytes(self._models.free_disk_bytes)} of disk left"
            shown.update(Content.assemble(line, left))
            return
        if fetch.error is not None:
            hint = f"\n{fetch.error.hint}" if fetch.error.hint else ""
            shown.update(Content(clean(f"error: {fetch.error.message}{hint}")))
            self._wanted = None
        elif fetch.is_cancelled:
            shown.update(Content(f"stopped; what is here of {fetch.spec.id} is kept"))
            self._wanted = None
        else:
            shown.update(Content(f"{fetch.spec.id} is here"))
            self._rows = self._refreshed()
            self._models.fetch = None
            self._advance()

    def _refreshed(self) -> list[Row]:
        here = {row.name for row in self._models.rows() if row.is_here}
        rows = [replace(row, is_here=row.name in here) for row in self._rows]
        table = self._table(TARGETS)
        for at, row in enumerate(rows):
            for column, cell in enumerate(self._shown(self._cells(row), NOT_NARROW)):
                table.update_cell_at((at, column), cell)  # type: ignore[arg-type]
        self._show_drafts(self._models.drafts(rows[table.cursor_row]))
        return rows

    def _target(self) -> Row:
        return self._rows[self._table(TARGETS).cursor_row]

    def action_cancel_fetch(self) -> None:
        """Stop the download; its part is kept."""
        self._models.cancel()

    def action_plan(self) -> None:
        """What would lie where, of what is chosen."""
        draft = self._drafts[self._table(DRAFTS).cursor_row]
        self._show_plan(self._target().name, draft.name if draft.ok else OFF)

    def _show_plan(self, target: str, draft: str) -> None:
        """What is fetched, or loaded as the first, is planned before."""
        from .plan import PlanScreen

        screen = PlanScreen(self._models, self._glyphs, (target, draft))
        self.app.push_screen(screen, self._take_plan)

    def _take_plan(self, change: ModelChange | None) -> None:
        if change is not None:
            self._wanted = change
            self._advance()


def _draw_again(table: "DataTable[Cell]") -> None:
    """Once Textual knows the widths of the columns: a head that was drawn before would stay."""
    table.call_after_refresh(table.notify_style_update)


def speed_words(row: Row) -> str:
    """`18.2`, `~12` where it is reckoned, `?`."""
    if row.speed is None:
        return "?"
    if row.speed.is_measured:
        return f"{row.speed.tokens_per_s:.1f}"
    return f"~{row.speed.tokens_per_s:.{'0' if row.speed.tokens_per_s >= 10 else '1'}f}"


def speed_told(row: Row) -> str:
    """What the figure is."""
    if row.speed is None:
        return "unknown until a model was loaded here once"
    if row.speed.is_measured:
        return "plain decoding, measured on this machine"
    return "expected of plain decoding, by its size and what was measured of another model here"
