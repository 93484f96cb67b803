"""The scrolling conversation: turns and notices; follows the end until a person scrolls up."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Static

from .glyphs import Glyphs
from .kept import Kept

if TYPE_CHECKING:
    from edgespec.chat.controller import Turn
    from edgespec.events import TokenText

    from .turn import TurnView

MAX_TURNS = 40
"""Views kept at the end: laying out more makes every update slower."""
TURNS_AT_ONCE = 20
"""Earlier turns that are brought back when a person scrolls to the top."""


class ChatLog(Kept, VerticalScroll):
    """The conversation: its newest turns, earlier ones when a person asks for them."""

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)
    """Follows from a layout; Textual's own asks for a second one, and a second paint."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "step(1)", show=False),
        Binding("k", "step(-1)", show=False),
    ]

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="log", can_focus=False)
        self._glyphs = glyphs
        self._earlier: list[Turn] = []
        """Turns without a view, oldest first."""
        self._tokens: dict[Turn, list[TokenText]] = {}
        """Of the answers that were shown last: a branch that comes back still knows its own."""
        self._more = Static(markup=False, classes="notice", id="earlier")
        self._is_growing_up = False
        self.decorate: Callable[[TurnView], None] = lambda view: None
        """Called with every new view."""

    def on_mount(self) -> None:
        """Follow the end."""
        self.anchor()

    @property
    def turns(self) -> "list[Turn]":
        """Everything shown, with or without a view."""
        return [*self._earlier, *(view.turn for view in self.views)]

    @property
    def views(self) -> "list[TurnView]":
        """The turns that have a view, oldest first."""
        turns = (child for child in self.children if child.has_class("turn"))
        return [cast("TurnView", turn) for turn in turns]

    async def add_turn(self, turn: "Turn") -> "TurnView":
        """Show a new turn at the end, whatever a person looked at before."""
        view = self._new_view(turn)
        await self.mount(view)
        if turn.status not in ("queued", "running"):
            view.finish()  # saved before, or deleted and back
        await self._drop_oldest()
        self.anchor()
        return view

    async def show(self, turns: "Sequence[Turn]") -> None:
        """Show another conversation in place of this one."""
        await self.clear()
        self._earlier = list(turns[:-TURNS_AT_ONCE])
        views = [self._new_view(turn) for turn in turns[-TURNS_AT_ONCE:]]
        await self.mount_all(views)
        for view in views:
            view.finish()
        await self._tell_earlier()
        self.anchor()

    async def add_notice(self, words: str | Content, *, is_error: bool = False) -> None:
        """Show a text that is not part of the conversation."""
        content = Content(words) if isinstance(words, str) else words
        await self.mount(Static(content, classes="error" if is_error else "notice"))
        self.anchor()

    async def clear(self) -> None:
        """Forget what was shown."""
        self._earlier.clear()
        await self.remove_children()

    @property
    def lines_below(self) -> int:
        """How far a person scrolled away from the end."""
        return int(max(0, self.max_scroll_y - max(0, self.scroll_y)))

    def action_step(self, by: int) -> None:
        """Select the turn before or after."""
        views, focused = self.views, self.screen.focused
        at = views.index(focused) + by if focused in views else len(views) - 1
        if views and 0 <= at < len(views):
            views[at].focus()
        elif at < 0:
            self.bring_back_soon()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """At the top: bring back what was before."""
        super().watch_scroll_y(old_value, new_value)
        if new_value < 1 and old_value > new_value and self._earlier:
            self.bring_back_soon()

    async def reach(self, turn: "Turn") -> None:
        """Bring earlier turns back until this one has a view."""
        while turn in self._earlier:
            await self.bring_back(stays=False)
            await asyncio.sleep(0)  # scrolling may be bringing them back already

    @work(exclusive=True)
    async def bring_back_soon(self) -> None:
        """`bring_back`, after what is under way."""
        await self.bring_back()

    async def bring_back(self, *, stays: bool = True) -> None:
        """Show some of the earlier turns; `stays`: without moving what is on screen."""
        if self._is_growing_up or not self._earlier:
            return
        self._is_growing_up = True
        try:
            turns = self._earlier[-TURNS_AT_ONCE:]
            del self._earlier[-TURNS_AT_ONCE:]
            views, first = [self._new_view(turn) for turn in turns], self._first_turn()
            before_y = self.virtual_size.height
            self.release_anchor()
            await self.mount_all(views, before=first)
            for view in views:
                view.finish()
            await self._tell_earlier()
            if stays:
                self.call_after_refresh(self._stay_at, before_y)
        finally:
            self._is_growing_up = False

    def _stay_at(self, before_y: int) -> None:
        grown = self.virtual_size.height - before_y
        self.scroll_to(y=self.scroll_y + grown, animate=False, force=True)

    def _new_view(self, turn: "Turn") -> "TurnView":
        from .turn import TurnView  # late: a new chat's first paint shows none

        view = TurnView(turn, self._glyphs)
        view.tokens = self._tokens.setdefault(turn, view.tokens)
        for old in [*self._tokens][:-MAX_TURNS]:
            del self._tokens[old]
        self.decorate(view)
        return view

    def _first_turn(self) -> Widget | int:
        return next(iter(self.views), 0)

    async def _drop_oldest(self) -> None:
        views = self.views
        if len(views) <= MAX_TURNS:
            return
        last = self.children.index(views[-MAX_TURNS])
        gone = list(self.children[:last])
        self._earlier += [view.turn for view in views[:-MAX_TURNS]]
        await self.remove_children(gone)
        await self._tell_earlier()

    async def _tell_earlier(self) -> None:
        if self._more.is_attached:
            await self._more.remove()
        if self._earlier:
            n = len(self._earlier)
            words = f"{self._glyphs.up} {n} earlier turn{'s' * (n > 1)}: scroll up"
            self._more = Static(words, markup=False, classes="notice", id="earlier")
            await self.mount(self._more, before=0)
