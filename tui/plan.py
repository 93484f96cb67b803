"""What lies where in memory, and what gave way: the plan a model was loaded by."""

from collections.abc import Iterable
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from edgespec.chat.controller import ChatController
from edgespec.sizes import gigabytes
from edgespec.text.clean import clean

from . import lines
from .dialog import Dialog, words
from .glyphs import Glyphs


class PlanScreen(Dialog[None]):
    """Read only: /context and F2 change it."""

    TITLE = "Plan"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", show=False)]

    def __init__(self, chat: ChatController, glyphs: Glyphs) -> None:
        super().__init__()
        self._chat, self._glyphs = chat, glyphs

    def parts(self) -> Iterable[Widget]:
        """One page."""
        yield VerticalScroll(words(self._page()), id="page")

    def _page(self) -> Content:
        about, plan = self._chat.description, getattr(self._chat.model, "plan", None)
        if about is None:
            return Content("no model is loaded: F2 chooses one")
        draft = f" + {about.draft} {about.draft_quant}" if about.draft else ""
        names = clean(f"{about.target} {about.target_quant}{draft}")
        head = Content.assemble(
            (names, "bold"), f"\n{clean(about.backend)}, context {about.n_ctx:,}\n\n"
        )
        if plan is None:
            return Content.assemble(head, "this model was loaded without a plan")
        return Content.assemble(head, plan_words(plan, self._glyphs))


def plan_words(plan: Any, glyphs: Glyphs) -> Content:
    """The lines of a `edgespec.plan.Plan`, the sum of each place, and what was reduced."""
    total = sum(line.size_bytes for line in plan.lines) or 1
    rows = [
        f"{line.what:<20}{gigabytes(line.size_bytes):>9}  {line.where:<8}"
        f" {lines.bar(line.size_bytes / total, glyphs, 12)}"
        for line in plan.lines
    ]
    rows.append(f"{'together':<20}{gigabytes(total):>9}")
    parts: list[str | tuple[str, str]] = [clean("\n".join(rows)), "\n"]
    if plan.rungs:
        parts += ["\n", ("To make it fit\n", "bold $text-primary")]
        parts += [clean(f"{rung.told}\n") for rung in plan.rungs]
    if plan.reason:
        parts += ["\n", ("Drafting\n", "bold $text-primary"), clean(plan.reason)]
    return Content.assemble(*parts)
