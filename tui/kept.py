"""Widgets whose drawn lines are kept: what comes beside or below them costs them nothing.

Textual asks every visible widget for all its lines at every drawing, and makes all of a widget's
lines again when its height changes, which is at most drawings of an answer that grows. Knows
nothing of a conversation.
"""

from typing import TYPE_CHECKING, Self

from rich.segment import Segment
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    _Widget = Widget
else:
    _Widget = object  # each class below `Widget` holds the first paint up


class Kept(_Widget):
    """Before a widget's class: its lines are made once, with what stands beside them."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._kept: dict[int, Strip] = {}
        self._kept_as: object = None

    def look(self) -> object:
        """What all lines depend on; Textual tells of the rest."""
        return (self.visual_style, self.app.theme, self.outer_size)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region, of which only those are made that are not kept."""
        look, kept, width = self.look(), self._kept, self.outer_size.width
        if look != self._kept_as:
            self._kept_as = look
            kept.clear()
        if missing := [y for y in crop.line_range if y not in kept]:
            first, last = missing[0], missing[-1]
            made = super().render_lines(Region(0, first, width, last - first + 1))
            kept.update(zip(range(first, last + 1), made, strict=True))
        strips = [kept[y] for y in crop.line_range]
        if crop.column_span != (0, width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Draw again: everything, or regions of the content."""
        if repaint and not regions:
            self._kept.clear()
        for y in (y for region in regions for y in region.line_range):
            self._kept.pop(y + self.styles.gutter.top, None)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def lay_out(self, first: int) -> None:
        """The height is another one: from the content's line `first` on all are made again."""
        top = self.styles.gutter.top
        for y in [y for y in self._kept if y >= first + top]:
            del self._kept[y]
        super().refresh(layout=True)

    def notify_style_update(self) -> None:
        """Another theme, the focus, a class."""
        super().notify_style_update()
        self._kept.clear()


class KeptColumn(Kept, Vertical):
    """Parts below each other."""


class KeptRow(Kept, Horizontal):
    """Parts beside each other."""


def drawn(widget: Widget, line: Content, y: int, selection: Selection | None) -> Strip:
    """One line of a widget's content, selected where it is, that the mouse can select."""
    base, width = widget.visual_style, widget.content_size.width
    if selection is not None and (span := selection.get_span(y)) is not None:
        start, end = span
        chosen = widget.screen.get_visual_style("screen--selection")
        line = line.stylize(chosen, start, len(line.plain) if end == -1 else end)
    segments, x = [], 0
    for text, style in line.render(base, end="", parse_style=widget._get_style):
        segments.append(Segment(text, (base + style).rich_style_with_offset(x, y)))
        x += len(text)
    return Strip(segments, line.cell_length).adjust_cell_length(width, base.rich_style)


def are_same(one: Content, other: Content) -> bool:
    """Whether two lines are drawn alike."""
    return one is other or (one.plain == other.plain and one.spans == other.spans)
