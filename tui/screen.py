"""The chat screen: its parts, the loop that draws what the conversation tells, sending.

Owns no conversation: `ChatController` does. What the keys do is in `actions`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from edgespec.errors import EdgespecError
from edgespec.text.clean import clean

from . import keys
from .actions import ChatActions
from .chrome import Chrome
from .glyphs import Glyphs
from .kept import Kept, KeptColumn, KeptRow
from .log import ChatLog
from .pace import Pace
from .prompt import Prompt
from .start import prepare
from .turn_actions import UNDO_S

if TYPE_CHECKING:  # what is imported late, the chat's first paint does not wait for
    from textual.widget import Widget

    from edgespec.chat.commands import Command, Outcome
    from edgespec.chat.controller import ChatController, Turn
    from edgespec.chat.workers import OpenModel

    from .shelf import Models
    from .turn import TurnView

MANY = 5
"""So many new turns at once are another chat."""
IDLE_S = 0.5
"""So often an idle chat looks for news of what is saved."""
FIGURES_S = 0.4
"""Figures that change faster cannot be read."""
_TOLD = ("", "follow", "edit")
"""What a command says is shown in the log with these effects."""
_TOLD_ABOVE = ("opened", "cleared")
"""The log is drawn anew with these: what is said is shown above it for a while."""


_SCREENS = {"help": "help", "model": "models", "resume": "chats", "set": "params", "why": "why"}
"""Commands that are a screen here, unless they say what to do."""


class ChatScreen(Kept, ChatActions):
    """One conversation; without one, until `hold`, only what stands around it."""

    HORIZONTAL_BREAKPOINTS = keys.WIDTHS
    VERTICAL_BREAKPOINTS = keys.HEIGHTS
    BINDINGS = keys.bindings("chat")

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self.glyphs = glyphs
        self.log_view = ChatLog(glyphs)
        self.log_view.decorate = self.decorate
        self.prompt = Prompt()
        self.prompt.border_subtitle = "BOOT"
        self._header = Chrome(Content.styled(" edgespec", "bold"), id="header")
        self._panel = Chrome(Content.styled("SPECULATIVE", "bold"), id="panel")
        self._strip = Chrome(Content(" starting"), id="strip")
        self._commands = Static(markup=False, id="commands")
        self._has_work = asyncio.Event()
        self._figures_s = 0.0
        self._state = ""
        self._told_error: EdgespecError | None = None
        self._told_of: Widget | None = None
        """What had the focus when something was told about a part of it."""
        self._is_held = self._is_open = self._is_styled = False
        self.when_shown: Callable[[], Awaitable[None]] = self.open
        """Called once, after the first frame."""
        self.flush_costs_s: list[float] = []
        """CPU seconds of each drawing during the last answer."""

    def hold(self, chat: "ChatController", models: "Models") -> None:
        """Take the conversation; `open` shows it."""
        from .feed import Feed
        from .panel import SpecPanel
        from .strip import HeaderBar, SpecStrip

        self.chat, self.models, self._is_held = chat, models, True
        models.shelf = chat.shelf
        self.feed = Feed(chat, self.log_view)
        self._header.drawer = HeaderBar(chat, self.glyphs, models)
        self._panel.drawer = SpecPanel(chat, self.glyphs, self.feed.pulse)
        self._strip.drawer = SpecStrip(chat, self.glyphs, self.feed.pulse)
        self.prompt.earlier = chat.chats.prompts

    def compose(self) -> ComposeResult:
        """The whole screen, and a line for terminals too small for it."""
        yield Static("terminal too small (need 40 x 10); the answer goes on", id="too-small")
        with KeptColumn(id="all"):
            yield self._header
            with KeptRow(id="body"):
                yield self.log_view
                yield self._panel
            yield self._strip
            yield self._commands
            yield self.prompt
            yield Static(keys.key_row(), id="keys", markup=False)

    async def on_mount(self) -> None:
        """Typing may begin at once; a chat that was opened is there already."""
        # Textual paints only what changes after fg, on a screen that the shell has left empty.
        self.app.app_resume_signal.subscribe(self, lambda _: self.app.refresh(layout=True))
        self._commands.display = False
        self.prompt.focus()
        if self._is_held:
            await self.open()
        self.call_after_refresh(self._show_first)

    async def open(self) -> None:
        """Show the conversation, once."""
        if self._is_open or not self._is_held:
            return
        self._is_open = True
        await self.show_turns()
        if typed := self.chat.chats.jotted():
            self.give_back(typed)
            self.notify("back in the prompt: what was not sent the last time", timeout=6)
        self._draw_updates()

    async def _show_first(self) -> None:
        await self.when_shown()
        if not self._is_open:
            return  # there is none: the app leaves
        if self.models.must_choose:
            from .agree import nothing_yet

            nothing_yet(self)
            self.action_models()
        self.wake()
        self._prepare_soon()

    @work(group="start", exit_on_error=False)
    async def _prepare_soon(self) -> None:
        await asyncio.to_thread(prepare)

    def update_node_styles(self, animate: bool = True) -> None:
        """Not for the first frame: each part has had its styles since it was mounted."""
        if self._is_styled:
            super().update_node_styles(animate)
        self._is_styled = True

    def on_unmount(self) -> None:
        """What is not sent now comes back at the next start."""
        if self._is_open:
            self.chat.chats.jot(self.prompt.text)

    def on_resize(self, event: Resize) -> None:
        """The chrome's lines are made for a width; a prompt that was hidden has lost the focus."""
        self.call_after_refresh(self.refresh_chrome)
        if self.focused is None:
            self.call_after_refresh(self.prompt.focus)

    # Drawing

    @work(group="draw", exclusive=True)
    async def _draw_updates(self) -> None:
        pace = Pace(time.thread_time)
        while True:
            if not self.chat.is_busy:
                self._has_work.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._has_work.wait(), IDLE_S)
                pace.woke()
            await asyncio.sleep(pace.rest_s)
            was_busy, updates = self.chat.is_busy, self.chat.drain()
            updates += self.chat.drain()  # what applying those told
            if self.models.fetch is not None and self.app.screen is self:
                from .fetched import watch

                watch(self)
            if not updates and not was_busy and self.feed.is_drawn:
                continue
            if returned := await self.feed.draw(updates):
                self.give_back(returned)
            self._refresh_figures()
            self.flush_costs_s.append(pace.drawn())
            if self.chat.full is not None and self.app.screen is self:
                self.choose_way_out()
            self._tell_failure()

    def _tell_failure(self) -> None:
        """What failed is told once, when nothing else is on the screen."""
        error = self.chat.trouble.error
        if error is not self._told_error and self.app.screen is self:
            self._told_error = error
            if (failure := self.chat.trouble.failure) is not None:
                self.show_failure(failure)

    def _refresh_figures(self) -> None:
        now_s = time.monotonic()
        if self._state != self.chat.state or now_s - self._figures_s >= FIGURES_S:
            self._figures_s = now_s
            self.refresh_chrome()

    def refresh_chrome(self) -> None:
        """Draw everything around the conversation again."""
        if not self._is_held:
            return
        self._state = self.chat.state
        for part in (self._header, self._panel, self._strip):
            part.redraw()
        can_stop = self.chat.is_answering and self.chat.state != "STOPPING"
        state: str = "PLAN" if self.is_planning else self.chat.state
        state += "  Esc stops" if can_stop else ""
        n_below = self.log_view.lines_below
        title = f"{self.glyphs.down} {n_below} lines below, Ctrl+End" if n_below > 2 else ""
        if self.editing is not None:
            title = "edits that message; Esc gives up"
        if (self.prompt.border_subtitle, self.prompt.border_title) != (state, title):
            self.prompt.border_subtitle, self.prompt.border_title = state, title

    def wake(self) -> None:
        """There is something to draw."""
        self.flush_costs_s.clear()
        self._has_work.set()
        self.refresh_chrome()

    async def show_turns(self) -> None:
        """Show the conversation's branch as it is now."""
        turns, log = self.chat.turns, self.log_view
        shown = log.turns
        # Before the first view is mounted: a turn may end meanwhile, and has to be drawn as ended.
        live = [turn for turn in turns if turn.status in ("queued", "running")]
        if turns[: len(shown)] == shown and len(turns) - len(shown) < MANY:
            for turn in turns[len(shown) :]:
                await log.add_turn(turn)
        elif shown[: len(turns)] == turns:
            for turn in shown[len(turns) :]:
                await self.feed.take_back(turn)
        else:
            self.feed.forget()
            self.prompt.know([turn.prompt for turn in turns])
            await log.show(turns)
        for turn in live:
            if turn in self.chat.turns:  # and was not taken back
                await self.feed.begin(turn)
        for view in log.views:
            self.decorate(view)
            view.refresh_end()
        if self.editing is not None and self.editing.turn not in self.chat.turns:
            if self.editing.before:  # another chat is shown: there is nothing to edit
                self.prompt.remember(self.editing.before)
            self.editing = None
        self.wake()

    def decorate(self, view: "TurnView") -> None:
        """Tell a view what stands beside its turn and whether the model still sees it."""
        siblings = self.chat.branches.siblings(view.turn)
        if view.turn in siblings and len(siblings) > 1:
            view.branch = (siblings.index(view.turn) + 1, len(siblings))
        else:
            view.branch = (1, 1)
        view.is_left_out = view.turn in self.chat.conversation.left_out
        view.shows_tokens = self.shows_tokens

    # Loading, sending

    @work(group="first")
    async def load_first(self, open_model: "OpenModel") -> None:
        """Plan and load what the chat begins with."""
        from .agree import load_first

        await load_first(self, open_model)

    async def on_prompt_submitted(self, message: Prompt.Submitted) -> None:
        """Send, or do what a command says; without either, try a load again that ended."""
        if not message.text:
            if self.chat.trouble.load_again():
                self.wake()
            return
        from edgespec.chat.commands import Command, Unknown, parse

        parsed = parse(message.text)
        if isinstance(parsed, Unknown):
            await self.log_view.add_notice(clean(parsed.sentence), is_error=True)
            return
        if not isinstance(parsed, Command) and not self.chat.can_queue:
            words = "a message waits already: Esc takes it back; your text stays here"
            self.notify(words, timeout=4)
            return
        self.prompt.remember(message.text)
        # What was typed since stays: a terminal may bring Enter and more in one piece.
        self.prompt.put(self.prompt.text.partition(message.text)[2].strip("\n"))
        if isinstance(parsed, Command):
            await self.do(parsed)
        else:
            await self._send(parsed.text)

    async def _send(self, text: str) -> None:
        edited, self.editing = self.editing, None
        if edited is not None:
            self.chat.edit(edited.turn, text)
            self.give_back(edited.before)
        else:
            self.chat.send(text)
        await self.show_turns()

    async def do(self, command: "Command") -> None:
        """Do what a command says, and what follows on the screen."""
        if command.name in _SCREENS and not command.argument:
            await self.run_action(_SCREENS[command.name])
            return
        from edgespec.chat.commands import run

        try:
            outcome = run(self.chat, command)
        except EdgespecError as error:
            await self.add_error(error)
            return
        await self._follow(outcome)
        self.refresh_chrome()

    async def _follow(self, outcome: "Outcome") -> None:
        is_sent = outcome.effect == "sent"
        if self.log_view.turns != self.chat.turns or is_sent:
            await self.show_turns()
        if outcome.text and outcome.effect in _TOLD:
            await self.log_view.add_notice(clean(outcome.text))
        match outcome.effect:
            case "quit":
                self.action_leave()
            case "edit":
                assert outcome.turn is not None
                self.edit(outcome.turn)
            case "opened":
                await self.log_view.show(self.chat.turns)
                await self.show_turns()
            case "cleared":
                await self.log_view.clear()
                self.prompt.focus()
            case "follow":
                self.wake()
            case "help":
                self.action_help()
            case "copy":
                await self.copy(outcome.payload)
            case _:
                pass
        if outcome.text and outcome.effect in _TOLD_ABOVE:
            self.notify(clean(outcome.text), timeout=UNDO_S, markup=False)

    def on_text_area_changed(self) -> None:
        """Keep what is being typed; show which commands it may become."""
        self.chat.chats.jot(self.prompt.text)
        self.on_prompt_marked()

    def on_prompt_marked(self) -> None:
        """Show the commands, and which one is marked."""
        self._commands.update(self.prompt.completion.draw(self.glyphs))
        self._commands.display = bool(self.prompt.completion.entries)

    @work(exclusive=True, group="full")
    async def choose_way_out(self) -> None:
        """The context is full: a person says what becomes of the message."""
        from .full import FullScreen

        full = self.chat.full
        assert full is not None
        kind = await self.app.push_screen_wait(FullScreen(full, self.prompt.type_on))
        try:
            self.chat.choose(kind)
        except EdgespecError as error:
            await self.add_error(error)
            return
        await self.show_turns()
        self.wake()

    def tell(self, words: str) -> None:
        """Show a line above the prompt until something is typed, or something else is chosen."""
        self._told_of = self.focused if words else None
        self.prompt.completion.close()
        self._commands.update(f" {clean(words)}")
        self._commands.display = bool(words)

    def on_descendant_focus(self) -> None:
        """What was told was about a part of something else."""
        if self._told_of is not None and self.focused is not self._told_of:
            self.tell("")

    def last_answer(self) -> "Turn | None":
        """The turn that was answered last."""
        return next((turn for turn in reversed(self.chat.turns) if turn.text), None)
