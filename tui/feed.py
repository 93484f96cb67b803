"""From the conversation's updates to the log: which views are live, what an end brings with it."""

from typing import TYPE_CHECKING

from edgespec.chat.controller import ChatController, LoadFailed, Turn, Update
from edgespec.chat.turns import ContextFull, Loaded, Notice, Returned, TurnEnded
from edgespec.events import Delta, Round, TokenText
from edgespec.text.clean import clean

from . import known
from .lines import error_words
from .live import Live
from .log import ChatLog

if TYPE_CHECKING:
    from .turn import TurnView


class Feed:
    """Draws updates. A turn is live until it is drawn for good; another may wait behind it."""

    def __init__(self, chat: ChatController, log: ChatLog) -> None:
        self._chat, self._log = chat, log
        self._live: list[TurnView] = []
        self._early: list[TokenText] = []
        """Tokens of a turn whose view is not there yet."""
        self.pulse = Live()

    @property
    def is_drawn(self) -> bool:
        """Whether every turn is drawn for good."""
        return not self._live

    async def begin(self, turn: Turn) -> None:
        """Show a turn that was just sent."""
        view = self._view_of(turn) or await self._log.add_turn(turn)
        view.refresh_end()
        if view not in self._live:
            if not self._live:
                view.tokens.extend(self._early)
                self._early.clear()
            self._live.append(view)

    async def take_back(self, turn: Turn) -> None:
        """Remove a turn from the screen: its message was withdrawn."""
        if (view := self._view_of(turn)) is not None:
            self._live = [other for other in self._live if other is not view]
            await view.remove()

    def forget(self) -> None:
        """Draw the live turns no further: another chat is shown."""
        self._live.clear()
        self._early.clear()

    async def draw(self, updates: list[Update]) -> str:
        """Draw what came. Returns: a message that belongs back into the prompt."""
        returned, speakers = "", iter(self._live)
        speaker = next(speakers, None)
        for update in updates:
            match update:
                case Loaded():
                    await self._draw_loaded(update)
                case LoadFailed():
                    returned = await self._draw_failed_load(update) or returned
                case Delta(kind="text"):
                    heard = speaker.tokens if speaker is not None else self._early
                    heard.extend(update.tokens)
                case Round():
                    self.pulse.hear(update)
                case TurnEnded():
                    speaker = next(speakers, None)
                case Notice():
                    await self._log.add_notice(clean(update.text), is_error=update.is_error)
                case Returned():
                    await self.take_back(update.turn)
                    returned = update.text
                case ContextFull():
                    pass  # the screen asks what to do
        return await self._draw_live() or returned

    async def _draw_loaded(self, loaded: Loaded) -> None:
        about, shelf = loaded.model.description, self._chat.shelf
        self.pulse.begin()
        if about.drafter_note:
            await self._log.add_notice(f"draft: {clean(about.drafter_note)}")
        if shelf is not None and not about.gave_way and (wanted := shelf.wanted) is not None:
            known.remember(wanted)

    async def _draw_live(self) -> str:
        returned = ""
        for view in [*self._live]:
            if view.turn.status in ("queued", "running"):
                view.sync()
                continue
            view.finish()
            self._live = [other for other in self._live if other is not view]
            if view.turn.error is not None and not view.turn.text:
                returned = view.turn.prompt
        return returned

    async def _draw_failed_load(self, failed: LoadFailed) -> str:
        waiting = [view for view in self._live if view.turn not in self._chat.turns]
        await self._log.add_notice(error_words(failed.error), is_error=True)
        await self._log.add_notice("Enter tries again, F2 chooses another model, Ctrl+Q quits")
        for view in waiting:
            await self.take_back(view.turn)
        return waiting[0].turn.prompt if waiting else ""

    def _view_of(self, turn: Turn) -> "TurnView | None":
        return next((view for view in self._log.views if view.turn is turn), None)
