"""From the conversation's updates to the log: which view is live, what an end brings with it."""

from edgespec.chat.controller import ChatController, Loaded, LoadFailed, Turn, Update
from edgespec.text.clean import clean

from .log import ChatLog
from .turn import TurnView, error_words


class Feed:
    """Draws updates; at most one turn is live."""

    def __init__(self, chat: ChatController, log: ChatLog) -> None:
        self._chat, self._log = chat, log
        self._view: TurnView | None = None
        self._was_near_full = False

    @property
    def is_drawn(self) -> bool:
        """Whether the last turn is drawn for good."""
        return self._view is None

    async def begin(self, turn: Turn) -> None:
        """Show a turn that was just sent."""
        self._view = await self._log.add_turn(turn)

    async def take_back(self) -> None:
        """Remove the live turn from the screen: its message was withdrawn."""
        view, self._view = self._view, None
        if view is not None:
            await view.remove()

    def forget(self) -> None:
        """Draw the live turn no further: the chat was cleared."""
        self._view = None

    async def draw(self, updates: list[Update]) -> str:
        """Draw what came. Returns: a message that failed and belongs back in the prompt."""
        for update in updates:
            if isinstance(update, Loaded) and (note := update.model.description.drafter_note):
                await self._log.add_notice(f"draft: {clean(note)}")
            elif isinstance(update, LoadFailed):
                return await self._draw_failed_load(update)
        if self._view is None:
            return ""
        if self._view.turn.status in ("queued", "running"):
            await self._view.sync()
            return ""
        return await self._draw_end(self._view)

    async def _draw_end(self, view: TurnView) -> str:
        await view.finish()
        if self._view is view:  # else the chat was cleared while this was drawn
            self._view = None
        usage = self._chat.usage
        if usage.is_near_full and not self._was_near_full:
            words = f"the context is {usage.fraction:.0%} full; /new starts a new chat"
            await self._log.add_notice(words)
        self._was_near_full = usage.is_near_full
        return view.turn.prompt if view.turn.error is not None else ""

    async def _draw_failed_load(self, failed: LoadFailed) -> str:
        prompt = self._view.turn.prompt if self._view is not None else ""
        await self._log.add_notice(error_words(failed.error), is_error=True)
        await self._log.add_notice("Enter tries again, Ctrl+Q quits")
        await self.take_back()
        return prompt
