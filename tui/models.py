"""The picker: a target, how to draft for it, and fetching what is not here, on the same screen."""

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from rich.text import Text as Cell
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import DataTable, Static

from edgespec.chat.shelf import ModelChange
from edgespec.models.spec import ModelSpec
from edgespec.sizes import gigabytes
from edgespec.text.clean import clean

from . import lines
from .dialog import Dialog, words
from .glyphs import Glyphs
from .keys import bindings
from .shelf import OFF, DraftRow, Models, Row, missing

REFRESH_S = 0.25
TARGETS, DRAFTS = "targets", "drafts"


class ModelsScreen(Dialog[ModelChange]):
    """Two tables. Enter on a target goes to its drafts; Enter there takes both."""

    TITLE = "Models"
    HINT = "Enter chooses, Tab the other table, p plan, x stops a download, Esc back"
    BINDINGS: ClassVar[list[BindingType]] = bindings("models")

    def __init__(self, models: Models, glyphs: Glyphs, loaded: tuple[str, str] = ("", "")) -> None:
        super().__init__()
        self._models, self._glyphs, self._loaded = models, glyphs, loaded
        self._rows: list[Row] = []
        self._drafts: list[DraftRow] = []
        self._wanted: ModelChange | None = None
        """What is taken as soon as everything for it is here."""

    def parts(self) -> Iterable[Widget]:
        """Models, drafts, where from, progress."""
        yield words(self._lead(), classes="lead", id="lead")
        yield DataTable(id=TARGETS, cursor_type="row", zebra_stripes=False)
        yield words("Draft", classes="lead")
        yield DataTable(id=DRAFTS, cursor_type="row", zebra_stripes=False)
        yield Vertical(words("", id="about"), words("", id="fetch"), id="foot")

    def _lead(self) -> str:
        free = f"{gigabytes(self._models.free_bytes)} of memory are free"
        if self._models.must_choose:
            return f"There is no model on this machine yet: choose one. {free}."
        return free

    def on_mount(self) -> None:
        """Fill the tables; show a download that is running."""
        super().on_mount()
        self._rows = self._models.rows()
        table = self._table(TARGETS)
        table.add_columns(" ", "model", "size", "here", "tok/s", "fits this machine")
        for row in self._rows:
            table.add_row(*self._cells(row))
        self._table(DRAFTS).add_columns(" ", "draft", "size", "here", "why")
        if self._rows:
            self._show_drafts(self._rows[0].spec)
        table.focus()
        self.set_interval(REFRESH_S, self._follow_fetch)
        self._follow_fetch()

    def _table(self, name: str) -> "DataTable[Cell]":
        return self.query_one(f"#{name}", DataTable)

    def _cells(self, row: Row) -> list[Cell]:
        spec, glyphs = row.spec, self._glyphs
        mark = glyphs.mark if spec.id == self._loaded[0] else " "
        verdict = f"{glyphs.accepted if row.fits else glyphs.rejected} {row.verdict}"
        size = gigabytes(spec.planning_bytes) if spec.planning_bytes else "?"
        name = f"{clean(spec.id)}  {clean(spec.quant)}"
        style = "" if row.fits else "dim"
        here = "yes" if row.is_here else "-"
        cells = (mark, name, size, here, speed_words(row), verdict)
        return [Cell(cell, style) for cell in cells]

    def _show_drafts(self, target: ModelSpec) -> None:
        self._drafts = self._models.drafts(target)
        table = self._table(DRAFTS)
        table.clear()
        for draft in self._drafts:
            sign = self._glyphs.accepted if draft.ok else self._glyphs.rejected
            size = gigabytes(draft.size_bytes) if draft.size_bytes else ""
            here = "yes" if draft.is_here else "-"
            style = "" if draft.ok else "dim"
            cells = (
                sign,
                clean(draft.name),
                size if draft.ok else "",
                here if size else "",
                draft.told,
            )
            table.add_row(*(Cell(clean(cell), style) for cell in cells))

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Another target: its drafts, and where it comes from."""
        if event.data_table.id == TARGETS and self._rows:
            spec = self._rows[event.cursor_row].spec
            self._show_drafts(spec)
            about = f"{spec.title}, {spec.licence or 'licence unknown'}; from {spec.origin}"
            about += f"\ntok/s: {speed_told(self._rows[event.cursor_row])}"
            self.query_one("#about", Static).update(Content(clean(about)))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """A target: on to its drafts. A draft: take both."""
        if event.data_table.id == TARGETS:
            self._table(DRAFTS).focus()
            return
        draft = self._drafts[event.cursor_row]
        if not draft.ok:
            self.notify(f"{draft.name}: {draft.told}", timeout=4, markup=False)
            return
        target = self._target().spec
        self._wanted = ModelChange(target=target.id, draft=draft.name)
        self._advance()

    def _advance(self) -> None:
        """Fetch what is missing, one after the other; then take it."""
        wanted = self._wanted
        if wanted is None or self._models.is_fetching:
            return
        for rows, name in ((self._rows, wanted.target), (self._drafts, wanted.draft)):
            if name and missing(rows, name):
                self._models.start(self._models.catalogue.models[name])
                return
        self.dismiss(wanted)

    def _follow_fetch(self) -> None:
        fetch = self._models.fetch
        shown = self.query_one("#fetch", Static)
        if fetch is None:
            return
        if not fetch.is_done:
            shown.update(lines.fetching(fetch.spec.id, fetch.progress, self._glyphs))
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
        here = {row.spec.id for row in self._models.rows() if row.is_here}
        target = self._target().spec
        self._drafts = self._models.drafts(target)
        rows = [replace(row, is_here=row.spec.id in here) for row in self._rows]
        table = self._table(TARGETS)
        for at, row in enumerate(rows):
            table.update_cell_at((at, 3), Cell("yes" if row.is_here else "-"))  # type: ignore[arg-type]
        return rows

    def _target(self) -> Row:
        return self._rows[self._table(TARGETS).cursor_row]

    def action_cancel_fetch(self) -> None:
        """Stop the download; its part is kept."""
        self._models.cancel()

    def action_plan(self) -> None:
        """What would lie where, of what is chosen."""
        from .plan import PlanScreen

        target = self._target().spec
        draft = self._drafts[self._table(DRAFTS).cursor_row]
        names = (target.id, draft.name if draft.ok else OFF)
        self.app.push_screen(PlanScreen(self._models, self._glyphs, names), self._take_plan)

    def _take_plan(self, change: ModelChange | None) -> None:
        if change is not None:
            self._wanted = change
            self._advance()


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
