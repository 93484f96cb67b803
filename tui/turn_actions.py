"""What the keys do with one turn: select, copy, edit, branch, delete, look at its tokens."""

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import work
from textual.events import Key, Paste
from textual.screen import Screen

from edgespec.text.clean import clean

from .log import ChatLog
from .prompt import Prompt

if TYPE_CHECKING:
    from textual.widget import Widget

    from edgespec.chat.controller import ChatController, Turn

    from .turn import TurnView

UNDO_S = 5.0


@dataclass(frozen=True, slots=True)
class Edit:
    """A message that is being written anew."""

    turn: "Turn"
    before: str
    """What was in the prompt, not sent."""


class TurnActions(Screen[None]):
    """The actions; the parts they act on are the chat screen's."""

    chat: "ChatController"
    log_view: ChatLog
    prompt: Prompt
    editing: Edit | None = None
    _n_copied: "tuple[Turn | None, int]" = (None, 0)

    # For the chat screen to fill

    def refresh_chrome(self) -> None:
        """Draw everything around the conversation again."""
        raise NotImplementedError

    async def show_turns(self) -> None:
        """Show the conversation's branch as it is now."""
        raise NotImplementedError

    def tell(self, words: str) -> None:
        """Show a line above the prompt until something is typed."""
        raise NotImplementedError

    def action_why(self) -> None:
        """Show why an answer was as fast as it was."""
        raise NotImplementedError

    # One turn

    def on_key(self, event: Key) -> None:
        """Who types over a turn means the prompt, as far as no key of the turn is meant."""
        is_typed = event.character is not None and event.is_printable
        # The prompt takes what it gets: this one was on its way to the turn when the focus went.
        is_late = self.focused is self.prompt
        is_ours = self.selected() is not None and event.key not in self.active_bindings
        if is_typed and (is_late or is_ours):
            event.stop()
            self.set_focus(self.prompt)  # at once, where `focus` comes after the next keys
            self.prompt.type_on(event.character or "")

    def on_paste(self, event: Paste) -> None:
        """Pasted over a turn: meant for the prompt too."""
        self.set_focus(self.prompt)
        self.prompt.type_on(event.text)

    def edit(self, turn: "Turn") -> None:
        """Write a turn's message anew; what was being written comes back afterwards."""
        before = self.editing.before if self.editing is not None else self.prompt.text
        self.editing = Edit(turn, before)
        self.prompt.put(turn.prompt)
        self.prompt.focus()
        self.refresh_chrome()

    def selected(self) -> "TurnView | None":
        """The turn that has the focus."""
        focused: Widget | None = self.focused
        return next((view for view in self.log_view.views if view is focused), None)

    async def action_turn(self, what: str) -> None:
        """Do something with the selected turn."""
        view = self.selected()
        if view is None:
            return
        turn, is_done = view.turn, view.turn.status not in ("queued", "running")
        match what:
            case "copy" if turn.text:
                await self.copy(turn.text)
            case "copy_code":
                await self._copy_code(view)
            case "why":
                self.action_why()
            case "edit" if is_done:
                self.edit(turn)
            case "regenerate" if is_done:
                again = self.chat.regenerate(turn)
                if again is None:
                    self.notify("an answer is under way: Esc stops it", timeout=3)
                await self.show_turns()
                self._select(again or turn)
            case "branch_back" | "branch_on" if is_done:
                other = self.chat.branches.step(turn, 1 if what == "branch_on" else -1)
                await self.show_turns()
                self._select(other)
            case "delete" if is_done:
                self.chat.branches.remove(turn)
                await self.show_turns()
                turns = self.chat.turns  # without one the prompt takes the keys
                keys = "u or /undo" if turns else "/undo"
                self.notify(f"deleted; {keys} brings it back", timeout=UNDO_S)
                self._select(turns[-1] if turns else None)
            case "undo":
                back = self.chat.branches.undo()
                await self.show_turns()
                self._select(back or turn)
                self.notify("it is back" if back else "there is nothing to bring back", timeout=2)
            case _:
                self.notify("not while it is being answered", timeout=2)

    def action_newest_turn(self) -> None:
        """From the prompt to the turn that was answered last."""
        self._select(self.chat.turns[-1] if self.chat.turns else None)

    def action_token(self, by: int) -> None:
        """In the token view: say where the next token of the selected turn came from."""
        view = self.selected()
        if view is None:
            return
        told = view.step_token(by)
        self.tell(told or "F6 shows the tokens first; saved turns do not know theirs")

    def _select(self, turn: "Turn | None") -> None:
        view = next((view for view in self.log_view.views if view.turn is turn), None)
        (view or self.prompt).focus()

    async def _copy_code(self, view: "TurnView") -> None:
        codes = view.document.codes
        if not codes:
            self.notify("this answer has no code", timeout=2)
            return
        turn, n = self._n_copied
        n = n + 1 if turn is view.turn else 1
        self._n_copied = (view.turn, n)
        await self.copy(codes[(n - 1) % len(codes)])

    @work
    async def copy_soon(self, text: str) -> None:
        """`copy`, after what is under way."""
        await self.copy(text)

    async def copy(self, text: str) -> None:
        """Copy a text, and say by which way."""
        from .clipboard import copy

        may_save = not self.chat.conversation.is_private
        send = self.app.copy_to_clipboard
        said = await asyncio.to_thread(copy, text, send, dict(os.environ), may_save=may_save)
        self.notify(clean(said), timeout=4, markup=False)
