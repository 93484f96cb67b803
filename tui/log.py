"""The scrolling conversation: turns and notices; follows the end until a person scrolls up."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from edgespec.chat.controller import Turn

from .glyphs import Glyphs
from .turn import TurnView

MAX_TURNS = 40
"""Views kept: laying out more makes every update slower."""


class ChatLog(VerticalScroll):
    """The conversation; the newest `MAX_TURNS` turns of it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
    ]

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="log")
        self._glyphs = glyphs
        self._n_dropped = 0

    def on_mount(self) -> None:
        """Follow the end."""
        self.anchor()

    async def add_turn(self, turn: Turn) -> TurnView:
        """Show a new turn at the end, whatever a person looked at before."""
        view = TurnView(turn, self._glyphs)
        await self.mount(view)
        await self._drop_oldest()
        self.anchor()
        return view

    async def add_notice(self, words: str | Content, *, is_error: bool = False) -> None:
        """Show a text that is not part of the conversation."""
        content = Content(words) if isinstance(words, str) else words
        await self.mount(Static(content, classes="error" if is_error else "notice"))
        self.anchor()

    async def clear(self) -> None:
        """Forget what was shown."""
        self._n_dropped = 0
        await self.remove_children()

    @property
    def has_more_below(self) -> bool:
        """Whether a person scrolled away from the end."""
        return self.max_scroll_y - max(0, self.scroll_y) > 2

    async def _drop_oldest(self) -> None:
        views = list(self.query_children(TurnView))
        if len(views) <= MAX_TURNS:
            return
        last = self.children.index(views[-MAX_TURNS])
        self._n_dropped += sum(isinstance(c, TurnView) for c in self.children[:last])
        await self.remove_children(list(self.children[:last]))
        words = f"{self._n_dropped} earlier turns are not shown; the model still knows them"
        await self.mount(Static(words, markup=False, classes="notice"), before=0)
