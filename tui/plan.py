"""What would lie where in memory, what gave way, how it would draft; loading it so, or smaller."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from edgespec.api.types import Description
from edgespec.chat.shelf import ModelChange
from edgespec.errors import EdgespecError, ModelNotFound
from edgespec.plan.types import Line, Placement, Plan
from edgespec.sizes import gigabytes
from edgespec.text.clean import clean

from . import lines
from .dialog import Dialog, words
from .glyphs import Glyphs
from .keys import bindings
from .offers import AUTO, OFF, FileRow
from .shelf import Models

BAR_WIDTH = 12
UNKNOWN_SHAPE = "What goes where is planned once it is here: the catalogue does not know its shape."
NO_ROOM = "- not enough"
LEAST_CTX = 512
"""A conversation needs so much."""


class PlanScreen(Dialog[ModelChange]):
    """Plans a target and its draft for this machine, in a thread. Ends with what to load."""

    TITLE = "Plan"
    HINT = "Enter takes it so, c C context, d draft, Esc back"
    BINDINGS: ClassVar[list[BindingType]] = bindings("plan")

    def __init__(
        self,
        models: Models,
        glyphs: Glyphs,
        names: tuple[str, str],
        loaded: Description | None = None,
        n_ctx: int | None = None,
    ) -> None:
        """`names`: a target, and a draft, "auto" or "off". `loaded`: where they are in use."""
        super().__init__()
        self._models, self._glyphs, self._loaded = models, glyphs, loaded
        self._target, self._named_draft = names
        self._draft = self._named_draft
        self._n_ctx = loaded.n_ctx if loaded is not None else n_ctx
        self._made: Plan | None = None
        """What `self._draft` and `self._n_ctx` come to; None: not known, or it does not fit."""
        self._can_take: bool | None = None
        """None: it is being planned."""

    def parts(self) -> Iterable[Widget]:
        """One page."""
        yield VerticalScroll(words(f"planning{self._glyphs.ellipsis}", id="plan"), id="page")

    def on_mount(self) -> None:
        """Plan while the chat goes on."""
        super().on_mount()
        self.query_one("#page").focus()
        self._plan()

    @work(exclusive=True)
    async def _plan(self) -> None:
        self._made, self._can_take, is_of_the_name = None, None, False
        parts = [as_loaded(self._loaded)] if self._loaded is not None else []
        names: tuple[str, ...] = (self._target, self._draft)
        try:
            self._made = plan = await asyncio.to_thread(
                self._models.plan, self._target, self._draft, self._n_ctx
            )
            names = (plan.target_id, plan.draft_id or "", *plan.lower_ids)
            told, self._can_take = plan_words(plan, self._glyphs), True
        except EdgespecError as error:
            hint = f"\n{error.hint}" if error.hint else ""
            told = Content(clean(f"{error.message}{hint}"))
            is_of_the_name = isinstance(error, ModelNotFound)
        files = await asyncio.to_thread(self._models.files, *names)
        if is_of_the_name and any(not file.is_here for file in files):
            told, self._can_take = Content(UNKNOWN_SHAPE), True
        left_bytes = self._models.free_disk_bytes
        parts += [file_words(files, left_bytes, self._glyphs)] if files else []
        self.query_one("#plan", Static).update(Content("\n\n").join([*parts, told]))
        self._can_take = bool(self._can_take)

    def action_load(self) -> None:
        """Take it, if it fits."""
        if not self._can_take:
            is_planned = self._can_take is not None
            words = "this cannot be loaded as planned" if is_planned else "it is being planned"
            self.notify(words, timeout=3)
            return
        change = ModelChange(self._target, self._draft, self._n_ctx)
        self._models.agreed = change
        self.dismiss(change)

    def action_smaller(self) -> None:
        """Half the context."""
        self._resize(self._known_ctx() // 2)

    def action_larger(self) -> None:
        """Twice the context."""
        self._resize(2 * self._known_ctx())

    def action_no_draft(self) -> None:
        """Without a draft model, or as it was named."""
        usual = OFF if self._named_draft != OFF else AUTO
        self._draft = self._named_draft if self._draft != self._named_draft else usual
        self._plan()

    def _resize(self, n_ctx: int) -> None:
        if n_ctx >= LEAST_CTX:
            self._n_ctx = n_ctx
            self._plan()

    def _known_ctx(self) -> int:
        return self._n_ctx or (self._made.target.n_ctx if self._made is not None else 0)


def as_loaded(about: Description) -> Content:
    """What is loaded, and what it really took."""
    draft = f" + {about.draft} {about.draft_quant}" if about.draft else ""
    head = f"{about.target} {about.target_quant}{draft}"
    rows = [f"{clean(about.backend)}, context {about.n_ctx:,}"]
    rows += [
        f"{place.where}: {gigabytes(place.allocated_bytes)} taken, "
        f"{gigabytes(place.planned_bytes)} planned"
        for place in about.memory
    ]
    rows += [f"memory was short: {told}" for told in about.gave_way]
    return Content.assemble((clean(head), "bold"), "\n", clean("\n".join(rows)))


def file_words(files: Sequence[FileRow], left_bytes: int, glyphs: Glyphs) -> Content:
    """The files, those that are here and those to fetch, with sizes and where they come from."""
    rows = []
    for file in files:
        size = "?" if file.size_bytes is None else gigabytes(file.size_bytes)
        where = "here" if file.is_here else f"to fetch from {clean(file.origin)}"
        rows.append(f"{clean(file.name)} {clean(file.quant)}, {size}: {where}")
    fetched_bytes = sum(file.size_bytes or 0 for file in files if not file.is_here)
    if fetched_bytes:
        room = f"{glyphs.accepted} it fits" if fetched_bytes < left_bytes else NO_ROOM
        sizes = f"{gigabytes(fetched_bytes)} to fetch, {gigabytes(left_bytes)} of disk left"
        rows.append(f"{sizes} {room}")
    return Content.assemble(("Files\n", "bold $text-primary"), "\n".join(rows))


def plan_words(plan: Plan, glyphs: Glyphs) -> Content:
    """A plan: placements, each place line by line, why it drafts as it does, what gave way."""
    parts: list[str | tuple[str, str]] = [(f"{clean(plan.target_id)}  ", "bold")]
    parts.append(f"{placement_words(plan.target)}\n")
    if plan.draft is not None:
        parts += [(f"{clean(plan.draft_id or '')}  ", "bold"), f"{placement_words(plan.draft)}\n"]
    for room in plan.rooms:
        own = [line for line in plan.lines if line.where == room.where]
        free = "?" if room.free_bytes is None else gigabytes(room.free_bytes)
        title = f"\n{clean(room.where)}: {gigabytes(room.needed_bytes)} needed, {free} free\n"
        parts += [(title, "bold $text-primary"), _rows(own, glyphs)]
    parts += [("\nDrafting\n", "bold $text-primary")]
    parts.append(clean(f"{', '.join(plan.drafters)}: {plan.reason}\n"))
    parts += [clean(f"memory is short: {rung.told}\n") for rung in plan.rungs]
    parts += [clean(f"note: {note}\n") for note in plan.notes]
    return Content.assemble(*parts).rstrip()


def _rows(own: list[Line], glyphs: Glyphs) -> str:
    most = max((line.size_bytes for line in own), default=1) or 1
    return "".join(
        f"{clean(line.what):<22}{gigabytes(line.size_bytes):>10}"
        f"  {lines.bar(line.size_bytes / most, glyphs, BAR_WIDTH)}\n"
        for line in own
    )


def placement_words(placement: Placement) -> str:
    """A placement in one line."""
    context = f"context {placement.n_ctx:,}, cache {placement.kv_type}"
    if not placement.devices:
        return f"on the CPU, {context}"
    where = " and ".join(clean(name) for name in placement.devices)
    return f"{placement.n_gpu_layers} layers on {where}, {context}"
