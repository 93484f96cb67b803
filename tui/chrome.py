"""What stands around the conversation: the bars and the panel, each drawn by a drawer of its own.

They are on the screen before there is a conversation, with a first word each: the first paint
waits for nothing that a drawer imports.
"""

from typing import Protocol

from textual.content import Content
from textual.widgets import Static


class Drawer(Protocol):
    """Draws one part from the conversation's state."""

    def draw(self, width: int, height: int) -> Content:
        """The lines of a part of that size."""
        ...


class Chrome(Static):
    """One part."""

    drawer: Drawer | None = None
    """None: there is no conversation yet."""

    def __init__(self, first: Content, *, id: str) -> None:
        super().__init__(id=id)
        self._first = first

    def render(self) -> Content:
        """As wide and as high as the part is."""
        if self.drawer is None:
            return self._first
        return self.drawer.draw(self.size.width, self.size.height)
