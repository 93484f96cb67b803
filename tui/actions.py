"""What the keys of the chat screen do."""

import asyncio
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import work

from edgespec.errors import EdgespecError
from edgespec.text.clean import clean

from .glyphs import Glyphs
from .keys import WIDE
from .recent import Logged
from .turn_actions import UNDO_S, TurnActions

if TYPE_CHECKING:
    from edgespec.chat.commands import Command
    from edgespec.chat.controller import LoadProgress, Turn
    from edgespec.chat.shelf import ModelChange
    from edgespec.chat.trouble import Failure, WayKind

    from .feed import Feed
    from .shelf import Models

INTERRUPTED = 130
QUIT_AGAIN_S = 2.0


class ChatActions(TurnActions):
    """The actions; the parts they act on are the chat screen's."""

    glyphs: Glyphs
    models: "Models"
    feed: "Feed"
    shows_tokens = False
    is_planning = False
    """What the chat begins with is being planned."""
    _interrupted_s = 0.0
    _given_up: "LoadProgress | None" = None
    """Of the load that was told to stop."""

    # For the chat screen to fill

    def wake(self) -> None:
        """There is something to draw."""
        raise NotImplementedError

    async def do(self, command: "Command") -> None:
        """Do what a command says."""
        raise NotImplementedError

    def last_answer(self) -> "Turn | None":
        """The turn that was answered last."""
        raise NotImplementedError

    async def add_error(self, error: EdgespecError) -> None:
        """Say in the log what went wrong, and the next step."""
        from .lines import error_words

        await self.log_view.add_notice(error_words(error), is_error=True)

    # Stopping and leaving

    async def action_escape(self) -> None:
        """Take back a message that waits, stop the answer or a load, else go to the prompt.

        An answer that does not stop is left behind by a second press, some seconds later.
        """
        if self.editing is not None:
            before, self.editing = self.editing.before, None
            self.prompt.clear()  # an edit: Ctrl+Z brings it back
            self.prompt.insert(before)
        elif waiting := self.chat.withdraw():
            await self.show_turns()
            self.give_back(waiting)
        elif self.chat.can_force:
            self.chat.force()
            self.notify("the answer was left behind with its text; the model is loaded anew")
            await self.show_turns()
        elif self.chat.state == "STOPPING" or not self.chat.stop():
            self.tell("")
            self.prompt.focus()
        self.refresh_chrome()

    def action_interrupt(self) -> None:
        """Copy the selection, else stop the answer, else clear the prompt, else stop a load, else
        quit at the second time: also where what was told to stop does not."""
        if selected := self.prompt.selected_text or self.get_selected_text():
            self.copy_soon(selected)
            self.clear_selection()
        elif self.chat.is_answering and self._stops():
            self.refresh_chrome()
        elif self.prompt.text:
            self.prompt.clear()  # an edit: Ctrl+Z brings it back
        elif self._stops():
            self.refresh_chrome()
        elif time.monotonic() - self._interrupted_s < QUIT_AGAIN_S:
            self.app.exit(INTERRUPTED, return_code=INTERRUPTED)
        else:
            self._interrupted_s = time.monotonic()
            self.notify("Ctrl+C again quits", timeout=QUIT_AGAIN_S)

    def _stops(self) -> bool:
        """Whether there is something to stop that was not told to yet."""
        chat = self.chat
        if chat.state == "STOPPING" or chat.progress is self._given_up or not chat.stop():
            return False
        self._given_up = chat.progress if chat.state == "LOADING" else None
        return True

    def action_leave(self) -> None:
        """Quit; asks once while a download runs."""
        if self.models.is_fetching and time.monotonic() - self._interrupted_s > QUIT_AGAIN_S:
            self._interrupted_s = time.monotonic()
            words = "a download is running; Ctrl+Q again quits (what is here is kept)"
            self.notify(words, timeout=QUIT_AGAIN_S)
            return
        self.app.exit(0)

    def action_suspend(self) -> None:
        """To the shell, until fg."""
        self.app.action_suspend_process()

    def give_back(self, text: str) -> None:
        """Put a text back into the prompt; never over what is being written: then Up has it."""
        if not self.prompt.text:
            self.prompt.put(text)
        elif text and text != self.prompt.text:
            self.prompt.remember(text)
            self.notify("the message came back: Up brings it", timeout=UNDO_S)

    # Switches

    def action_draft(self) -> None:
        """Draft where it pays, at every step, or never; from the next step on."""
        self.chat.toggle_draft()
        from edgespec.chat.commands import draft_sentence

        self.notify(clean(draft_sentence(self.chat, is_brief=True)), timeout=3, markup=False)
        self.refresh_chrome()

    def action_think(self) -> None:
        """Think, or not, from the next answer on."""
        from edgespec.chat.commands import Command, run

        outcome = run(self.chat, Command("think", "off" if self.chat.is_thinking_on else "on"))
        self.notify(clean(outcome.text), timeout=3, markup=False)

    async def action_new(self) -> None:
        """Start a new chat."""
        from edgespec.chat.commands import Command

        await self.do(Command("new", ""))

    def action_fold(self) -> None:
        """Fold all reasoning if any is open, else unfold all."""
        views = [view for view in self.log_view.views if view.turn.reasoning]
        is_any_open = any(not view.is_folded for view in views)
        for view in views:
            view.fold(is_any_open)

    def action_tokens(self) -> None:
        """Markdown, or where each token came from."""
        self.shows_tokens = not self.shows_tokens
        self.tell("")
        self._show_legend()
        for view in self.log_view.views:
            view.show_tokens(self.shows_tokens)
        if self.shows_tokens and not any(view.has_tokens for view in self.log_view.views):
            words = "token view: from the next answer on; saved turns do not know their tokens"
            self.notify(words, timeout=4)

    def _show_legend(self) -> None:
        """Above the live lines, where it does not scroll away."""
        if not self.query("#legend"):
            from textual.widgets import Static

            from .provenance import legend

            above = Static(legend(self.glyphs), id="legend")
            self.query_one("#all").mount(above, before="#strip")
        self.query("#legend").set(display=self.shows_tokens)

    def action_panel(self) -> None:
        """Show or hide the side panel, where there is room for it."""
        if not self.has_class("-wide"):
            words = f"the side panel needs {WIDE} columns; here are {self.size.width}"
            self.notify(words, timeout=3)
            return
        self.toggle_class("-no-panel")
        self.call_after_refresh(self.refresh_chrome)

    # Other screens

    def action_help(self) -> None:
        """Show keys and commands."""
        from .help import HelpScreen

        self.app.push_screen(HelpScreen())

    @work(exclusive=True, group="screen")
    async def action_models(self) -> None:
        """Choose a model and its draft; fetch what is not here."""
        from .models import ModelsScreen

        about = self.chat.description
        loaded = (about.target, about.draft or "") if about is not None else ("", "")
        screen = ModelsScreen(self.models, self.glyphs, loaded)
        change = await self.app.push_screen_wait(screen)
        await self.switch(change)

    @work(group="first")
    async def load_agreed(self, change: "ModelChange") -> None:
        """What was chosen before it was here."""
        await self.switch(change)

    async def switch(self, change: "ModelChange | None") -> None:
        """Load it otherwise, once a person agrees where memory is short."""
        from .agree import agreed

        if change is not None and (change := await agreed(self, change)) is not None:
            try:
                self.models.switch(self.chat, change)
            except EdgespecError as error:
                await self.add_error(error)
        await self.show_turns()

    @work(exclusive=True, group="failed")
    async def show_failure(self, failure: "Failure") -> None:
        """Say what failed, and go on as a person says."""
        from .failed import FailedScreen, is_way

        log = [*self.app.recent_log.logged] if isinstance(self.app, Logged) else []
        screen = FailedScreen(failure, log, self.chat.description, self.copy, self.prompt.type_on)
        kind = await self.app.push_screen_wait(screen)
        if kind == "model":
            self.action_models()
        elif (way := is_way(kind, failure)) is not None:
            await self._go_on(failure, way)

    async def _go_on(self, failure: "Failure", way: "WayKind") -> None:
        try:
            self.chat.trouble.take(way)
        except EdgespecError as error:
            await self.add_error(error)
            return
        if failure.turn is not None and self.prompt.text == failure.turn.prompt:
            self.prompt.text = ""  # it was given back, and is sent again
        await self.show_turns()

    @work(exclusive=True, group="screen")
    async def action_chats(self) -> None:
        """Look for a saved chat and go on with it."""
        from .chats import ChatsScreen

        found_id = await self.app.push_screen_wait(ChatsScreen(self.chat, self.glyphs))
        await self.show_turns()
        found = next((turn for turn in self.chat.turns if turn.id == found_id), None)
        if found is not None:
            await self.log_view.reach(found)
            self.log_view.release_anchor()
        self.call_after_refresh(self._select, found)  # once it has its place

    @work(exclusive=True, group="screen")
    async def action_params(self) -> None:
        """Change the system prompt and the settings."""
        from .params import ParamsScreen

        said = await self.app.push_screen_wait(ParamsScreen(self.chat))
        if said:
            await self.log_view.add_notice(clean(said))
        self.refresh_chrome()

    def action_log(self) -> None:
        """Show the log of this process."""
        from .logs import LogScreen

        if isinstance(self.app, Logged):
            self.app.push_screen(LogScreen(self.app.recent_log))

    @work(exclusive=True, group="screen")
    async def action_plan(self) -> None:
        """Show what lies where in memory, and why; load it otherwise."""
        about = self.chat.description
        if about is None:
            self.notify("no model is loaded: F2 chooses one", timeout=3)
            return
        from .plan import PlanScreen

        names = (about.target, about.draft or "off")
        screen = PlanScreen(self.models, self.glyphs, names, about)
        change = await self.app.push_screen_wait(screen)
        await self.switch(change)

    def action_why(self) -> None:
        """Show why the selected or the last answer was as fast as it was."""
        view = self.selected()
        turn = view.turn if view is not None else self.last_answer()
        if turn is None:
            self.notify("no answer yet", timeout=2)
            return
        from .why import WhyScreen

        tokens = next((v.tokens for v in self.log_view.views if v.turn is turn), [])
        self.app.push_screen(WhyScreen(self.chat, turn, tokens, self.glyphs))

    @work(exclusive=True, group="editor")
    async def action_editor(self) -> None:
        """Write the message in $EDITOR."""
        from .editor import edited

        text, failed = self.prompt.text, None
        try:
            with self.app.suspend():
                try:  # inside: Textual comes back only from a block that ends in order
                    lent = self.chat.chats.lent
                    text = await asyncio.to_thread(edited, text, dict(os.environ), lent)
                except EdgespecError as error:
                    failed = error
        except NotImplementedError:  # Textual: not on this platform, or without a terminal
            self.notify("no editor can be opened on this terminal", timeout=3)
            return
        if failed is not None:
            await self.add_error(failed)
        self.prompt.put(text)

    def action_scroll(self, where: str) -> None:
        """Scroll the conversation from the prompt."""
        log = self.log_view
        scrolls: dict[str, Callable[[], object]] = {
            "page_up": lambda: log.scroll_page_up(animate=False),
            "page_down": lambda: log.scroll_page_down(animate=False),
            "up": lambda: log.scroll_up(animate=False),
            "down": lambda: log.scroll_down(animate=False),
            "end": log.anchor,
        }
        scrolls[where]()
        self.call_after_refresh(self.refresh_chrome)
