"""The chat screen: what a person does, and the loop that draws what the conversation tells.

Owns no conversation: `ChatController` does. The loop drains it, draws once, and rests at least
four times as long as drawing took, so the UI never takes more than a fifth of a core.
"""

import asyncio
import os
import time

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Static

from edgespec.chat.commands import (
    Command,
    Outcome,
    Unknown,
    completions,
    draft_sentence,
    parse,
    run,
)
from edgespec.chat.controller import ChatController, Turn
from edgespec.errors import EdgespecError
from edgespec.text.clean import clean

from . import keys
from .clipboard import copy
from .feed import Feed
from .glyphs import Glyphs
from .help import HelpScreen
from .log import ChatLog
from .panel import SpecPanel
from .prompt import Prompt
from .strip import HeaderBar, SpecStrip
from .turn import TurnView, error_words

MIN_INTERVAL_S, MAX_INTERVAL_S = 1 / 12, 1 / 2
INTERRUPTED = 130
QUIT_AGAIN_S = 2.0
MAX_COMPLETIONS = 6


class ChatScreen(Screen[None]):
    """One conversation."""

    HORIZONTAL_BREAKPOINTS = keys.WIDTHS
    VERTICAL_BREAKPOINTS = keys.HEIGHTS
    BINDINGS = keys.BINDINGS

    def __init__(self, chat: ChatController, glyphs: Glyphs) -> None:
        super().__init__()
        self._chat, self._glyphs = chat, glyphs
        self._log = ChatLog(glyphs)
        self._prompt = Prompt()
        self._chrome = (HeaderBar(chat, glyphs), SpecPanel(chat, glyphs))
        self._strip = SpecStrip(chat, glyphs)
        self._commands = Static(markup=False, id="commands")
        self.feed = Feed(chat, self._log)
        self._has_work = asyncio.Event()
        self._interrupted_s = 0.0

    def compose(self) -> ComposeResult:
        """The whole screen, and a line for terminals too small for it."""
        header, panel = self._chrome
        yield Static("terminal too small (need 40 x 10); the answer goes on", id="too-small")
        with Vertical(id="all"):
            yield header
            with Horizontal(id="body"):
                yield self._log
                yield panel
            yield self._strip
            yield self._commands
            yield self._prompt
            yield Static(keys.KEY_ROW, id="keys", markup=False)

    def on_mount(self) -> None:
        """Typing may begin at once."""
        self._commands.display = False
        self._prompt.focus()
        self._refresh_chrome()
        self._draw_updates()

    def on_resize(self, event: Resize) -> None:
        """The chrome's lines are made for a width; a prompt that was hidden has lost the focus."""
        self.call_after_refresh(self._refresh_chrome)
        if self.focused is None:
            self.call_after_refresh(self._prompt.focus)

    @work(group="draw", exclusive=True)
    async def _draw_updates(self) -> None:
        interval_s, used_s = MIN_INTERVAL_S, time.thread_time()
        while True:
            if not self._chat.is_busy:
                self._has_work.clear()
                await self._has_work.wait()
            await asyncio.sleep(interval_s)
            returned = await self.feed.draw(self._chat.drain())
            if returned and not self._prompt.text:  # never over what is being written
                self._prompt.put(returned)
            self._refresh_chrome()
            # The thread's time, because Textual lays out and paints after this returns.
            cost_s, used_s = time.thread_time() - used_s, time.thread_time()
            interval_s = min(MAX_INTERVAL_S, max(MIN_INTERVAL_S, 4 * cost_s))

    def _refresh_chrome(self) -> None:
        for widget in (*self._chrome, self._strip):
            widget.refresh()
        can_stop = self._chat.is_answering and self._chat.state != "STOPPING"
        self._prompt.border_subtitle = self._chat.state + ("  Esc stops" if can_stop else "")
        more = f"{self._glyphs.down} more below, Ctrl+End"
        self._prompt.border_title = more if self._log.has_more_below else ""

    async def on_prompt_submitted(self, message: Prompt.Submitted) -> None:
        """Send, or do what a command says."""
        parsed = parse(message.text)
        if isinstance(parsed, Unknown):
            await self._log.add_notice(clean(parsed.sentence), is_error=True)
            return
        if not isinstance(parsed, Command) and not self._chat.can_send:
            what = "stops the answer" if self._chat.is_answering else "takes back what waits"
            self.notify(f"still busy: Esc {what}; your text stays here", timeout=4)
            return
        self._prompt.remember(message.text)
        self._prompt.text = ""
        if isinstance(parsed, Command):
            await self._do(parsed)
        else:
            await self._begin(self._chat.send(parsed.text))

    async def _begin(self, turn: Turn) -> None:
        self._strip.turn_started()
        await self.feed.begin(turn)
        self._has_work.set()
        self._refresh_chrome()

    async def _do(self, command: Command) -> None:
        try:
            outcome = run(self._chat, command)
        except EdgespecError as error:
            await self._log.add_notice(error_words(error), is_error=True)
            return
        await self._follow(outcome)
        self._refresh_chrome()

    async def _follow(self, outcome: Outcome) -> None:
        match outcome.effect:
            case "quit":
                self.app.exit(0)
            case "help":
                self.action_help()
            case "cleared":
                self.feed.forget()
                await self._log.clear()
                self._prompt.focus()
            case "copy":
                send, environ = self.app.copy_to_clipboard, dict(os.environ)
                said = await asyncio.to_thread(copy, outcome.payload, send, environ)
                await self._log.add_notice(said)
            case "sent":
                for view in self._log.query(TurnView):
                    view.refresh_end()
                assert outcome.turn is not None
                await self._begin(outcome.turn)
            case _:
                await self._log.add_notice(clean(outcome.text))

    def on_text_area_changed(self) -> None:
        """Show which commands the text may become."""
        entries = completions(self._prompt.text)
        rows = [f" {entry.usage:<26}{entry.summary}" for entry in entries[:MAX_COMPLETIONS]]
        if len(entries) > MAX_COMPLETIONS:
            rows[-1] = f" {self._glyphs.ellipsis} /help lists them all"
        self._commands.update("\n".join(rows))
        self._commands.display = bool(rows)

    async def action_escape(self) -> None:
        """Take back a message that waits, stop the answer, else go to the prompt."""
        if waiting := self._chat.withdraw():
            await self.feed.take_back()
            if not self._prompt.text:
                self._prompt.put(waiting)
        elif self._chat.stop():
            self._refresh_chrome()
        else:
            self._prompt.focus()

    def action_interrupt(self) -> None:
        """Copy the selection, else stop, else clear the prompt, else quit at the second time."""
        if selected := self._prompt.selected_text or self.get_selected_text():
            self.app.copy_to_clipboard(selected)
            self.clear_selection()
            self.notify("sent to the terminal's clipboard", timeout=2)
        elif self._chat.stop():
            self._refresh_chrome()
        elif self._prompt.text:
            self._prompt.text = ""
        elif time.monotonic() - self._interrupted_s < QUIT_AGAIN_S:
            self.app.exit(INTERRUPTED, return_code=INTERRUPTED)
        else:
            self._interrupted_s = time.monotonic()
            self.notify("Ctrl+C again quits", timeout=QUIT_AGAIN_S)

    def action_help(self) -> None:
        """Show keys and commands."""
        self.app.push_screen(HelpScreen())

    def action_draft(self) -> None:
        """Draft, or not, from the next answer on."""
        self._chat.toggle_draft()
        self.notify(clean(draft_sentence(self._chat)), timeout=3, markup=False)
        self._refresh_chrome()

    def action_think(self) -> None:
        """Think, or not, from the next answer on."""
        outcome = run(self._chat, Command("think", "off" if self._chat.is_thinking_on else "on"))
        self.notify(clean(outcome.text), timeout=3, markup=False)

    async def action_new(self) -> None:
        """Start a new chat."""
        await self._do(Command("new", ""))

    def action_fold(self) -> None:
        """Fold all reasoning if any is open, else unfold all."""
        folds = [view.think for view in self._log.query(TurnView) if view.turn.reasoning]
        is_any_open = any(not fold.is_folded for fold in folds)
        for fold in folds:
            fold.fold(is_any_open)

    def action_panel(self) -> None:
        """Show or hide the side panel."""
        self.toggle_class("-no-panel")
        self.call_after_refresh(self._refresh_chrome)

    def action_scroll(self, where: str) -> None:
        """Scroll the conversation from the prompt."""
        match where:
            case "page_up":
                self._log.scroll_page_up()
            case "page_down":
                self._log.scroll_page_down()
            case "up":
                self._log.scroll_up()
            case "down":
                self._log.scroll_down()
            case _:
                self._log.anchor()
        self.call_after_refresh(self._refresh_chrome)
