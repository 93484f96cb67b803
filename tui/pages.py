"""A page of blocks as one widget: pages that know their lines at a width."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from .blocks import Block


class Page(Widget):
    """Draws blocks below one another, wrapped to its width."""

    def __init__(self, blocks: Sequence[Block], *, id: str | None = None) -> None:
        super().__init__(id=id, classes="page")
        self._blocks = blocks
        self._made: tuple[int, list[Content]] = (0, [])

    def _lines(self, width: int) -> list[Content]:
        if self._made[0] != width:
            self._made = (width, [line for block in self._blocks for line in block.lines(width)])
        return self._made[1]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there are at this width."""
        return len(self._lines(width))

    def render_line(self, y: int) -> Strip:
        """One line."""
        width, base = self.content_size.width, self.visual_style
        lines = self._lines(width)
        if y >= len(lines):
            return Strip.blank(width, base.rich_style)
        drawn = lines[y].render(base, end="", parse_style=self._get_style)
        segments = [Segment(text, (base + style).rich_style) for text, style in drawn]
        return Strip(segments).adjust_cell_length(width, base.rich_style)
