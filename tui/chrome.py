"""What stands around the conversation: the bars and the panel, each drawn by a drawer of its own.

They are on the screen before there is a conversation, with a first word each: the first paint
waits for nothing that a drawer imports.
"""

from typing import Protocol

from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widgets import Static

from .kept import Kept, are_same, drawn


class Drawer(Protocol):
    """Draws one part from the conversation's state."""

    def draw(self, width: int, height: int) -> Content:
        """The lines of a part of that size."""
        ...


class Chrome(Kept, Static):
    """One part."""

    drawer: Drawer | None = None
    """None: there is no conversation yet."""

    def __init__(self, first: Content, *, id: str) -> None:
        super().__init__(id=id)
        self._first = first
        self._rows: list[Content] = []
        self._drawn_at = Size(0, 0)

    def render(self) -> Content:
        """As wide and as high as the part is."""
        if self.drawer is None:
            return self._first
        return self.drawer.draw(self.size.width, self.size.height)

    def redraw(self) -> None:
        """Draw the lines that are others now."""
        if not self.display:
            return
        before, self._rows = self._rows, self._rows_now()
        if len(before) != len(self._rows):
            self.refresh()
            return
        pairs = enumerate(zip(before, self._rows, strict=True))
        changed = [Region(0, y, self.size.width, 1) for y, pair in pairs if not are_same(*pair)]
        if changed:
            self.refresh(*changed)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Drawn anew where nothing is kept, and for another size."""
        if self.drawer is not None and (not self._kept or self._drawn_at != self.size):
            self._kept.clear()
            self._drawn_at, self._rows = self.size, self._rows_now()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One line of the content."""
        if self.drawer is None:
            return super().render_line(y)
        row = self._rows[y] if y < len(self._rows) else Content("")
        return drawn(self, row, y, self.text_selection)

    def _rows_now(self) -> list[Content]:
        from .blocks import wrap  # with the conversation: the first paint does not wait for it

        width, height = self.size
        lines = self.render().split(allow_blank=True) if width else []
        return [row for line in lines for row in wrap(line, width)][:height]
