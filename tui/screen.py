"""The chat screen: keys, commands, and the loop that draws what the conversation tells.

Owns no conversation: `ChatController` does. The loop drains it, draws once, and rests at least
four times as long as drawing took, so the UI never takes more than a fifth of a core.
"""

import asyncio
import os
import time

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Static

from edgespec.chat import ChatController, Loaded, LoadFailed, Turn, TurnEnded, Update
from edgespec.chat_commands import (
    Command,
    Outcome,
    Unknown,
    completions,
    draft_sentence,
    parse,
    run,
)
from edgespec.errors import EdgespecError
from edgespec.text.clean import clean

from .clipboard import copy
from .glyphs import Glyphs
from .help import HelpScreen
from .log import ChatLog
from .panel import SpecPanel
from .prompt import Prompt
from .strip import HeaderBar, SpecStrip
from .turn import TurnView, error_words

MIN_INTERVAL_S, MAX_INTERVAL_S = 1 / 12, 1 / 2
KEYS = " F1 help  F5 draft  ^T think  ^O fold  ^N new  ^P more  Esc stop  ^Q quit"
INTERRUPTED = 130
QUIT_AGAIN_S = 2.0
_WIDTHS = [(0, "-tiny-w"), (40, "-narrow"), (72, "-mid"), (100, "-wide")]
_HEIGHTS = [(0, "-tiny-h"), (10, "-short"), (22, "-tall")]
_WIDTHS = [(0, "-tiny-w"), (40, "-narrow"), (72, "-mid"), (100, "-wide")]
_HEIGHTS = [(0, "-tiny-h"), (10, "-short"), (22, "-tall")]
_BINDINGS: list[BindingType] = [
    Binding("escape", "escape", "Stop", show=False, id="stop"),
    Binding("ctrl+c", "interrupt", "Stop", show=False, priority=True, id="interrupt"),
    Binding("f1", "help", "Help", show=False, id="help"),
    Binding("f5", "draft", "Draft", show=False, id="draft"),
    Binding("f7", "panel", "Panel", show=False, priority=True, id="panel"),
    Binding("ctrl+t", "think", "Thinking", show=False, id="think"),
    Binding("ctrl+n", "command('new')", "New chat", show=False, id="new"),
    Binding("ctrl+o", "fold", "Fold reasoning", show=False, id="fold"),
    Binding("pageup", "scroll('page_up')", show=False, priority=True),
    Binding("pagedown", "scroll('page_down')", show=False, priority=True),
    Binding("ctrl+up", "scroll('up')", show=False, priority=True),
    Binding("ctrl+down", "scroll('down')", show=False, priority=True),
    Binding("ctrl+end", "scroll('end')", show=False, priority=True),
]


class ChatScreen(Screen[None]):
    """One conversation."""

    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS
    BINDINGS = _BINDINGS

    def __init__(self, chat: ChatController, glyphs: Glyphs) -> None:
        super().__init__()
        self._chat, self._glyphs = chat, glyphs
        self._log = ChatLog(glyphs)
        self._prompt = Prompt()
        self._header = HeaderBar(chat, glyphs)
        self._strip = SpecStrip(chat, glyphs)
        self._panel = SpecPanel(chat, glyphs)
        self._commands = Static(markup=False, id="commands")
        self._view: TurnView | None = None
        self._has_work = asyncio.Event()
        self._interrupted_s = 0.0
        self._was_near_full = False

    def compose(self) -> ComposeResult:
        """The whole screen, and a line for terminals too small for it."""
        yield Static("terminal too small (need 40 x 10); the answer goes on", id="too-small")
        with Vertical(id="all"):
            yield self._header
            with Horizontal(id="body"):
                yield self._log
                yield self._panel
            yield self._strip
            yield self._commands
            yield self._prompt
            yield Static(KEYS, id="keys", markup=False)

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

    # What the conversation tells

    @work(group="draw", exclusive=True)
    async def _draw_updates(self) -> None:
        interval_s = MIN_INTERVAL_S
        while True:
            if not self._chat.is_busy:
                self._has_work.clear()
                await self._has_work.wait()
            await asyncio.sleep(interval_s)
            began_s = time.perf_counter()
            if updates := self._chat.drain():
                await self._draw(updates)
            self._refresh_chrome()
            cost_s = time.perf_counter() - began_s
            interval_s = min(MAX_INTERVAL_S, max(MIN_INTERVAL_S, 4 * cost_s))

    async def _draw(self, updates: list[Update]) -> None:
        if self._view is not None:
            await self._view.sync()
        for update in updates:
            match update:
                case Loaded():
                    self._strip.turn_started()
                    note = update.model.description.drafter_note
                    if note:
                        await self._log.add_notice(f"draft: {clean(note)}")
                case LoadFailed():
                    await self._draw_failed_load(update.error)
                case TurnEnded():
                    await self._draw_end(update)

    async def _draw_end(self, ended: TurnEnded) -> None:
        if self._view is None:
            return
        await self._view.finish()
        if ended.error is not None:
            self._give_back(self._view.turn)
        self._view = None
        is_near_full = self._chat.usage.is_near_full
        if is_near_full and not self._was_near_full:
            share = f"{self._chat.usage.fraction:.0%}"
            await self._log.add_notice(f"the context is {share} full; /new starts a new chat")
        self._was_near_full = is_near_full

    async def _draw_failed_load(self, error: EdgespecError) -> None:
        await self._log.add_notice(error_words(error), is_error=True)
        await self._log.add_notice("Enter tries again, Ctrl+Q quits")
        if self._view is not None:
            self._give_back(self._view.turn)
            await self._view.remove()
            self._view = None

    def _give_back(self, turn: Turn) -> None:
        """Put the message of a failed turn back, unless a person writes the next one already."""
        if not self._prompt.text:
            self._prompt.put(turn.prompt)

    def _refresh_chrome(self) -> None:
        self._header.refresh()
        self._strip.refresh()
        self._panel.refresh()
        self._prompt.border_subtitle = self._state_words()
        more = f"{self._glyphs.down} more below, Ctrl+End" if self._log.has_more_below else ""
        self._prompt.border_title = more

    def _state_words(self) -> str:
        if self._chat.is_answering and self._chat.state != "STOPPING":
            return f"{self._chat.state}  Esc stops"
        return self._chat.state

    # What a person does

    async def on_prompt_submitted(self, message: Prompt.Submitted) -> None:
        """Send, or do what a command says."""
        parsed = parse(message.text)
        match parsed:
            case Unknown():
                await self._log.add_notice(clean(parsed.sentence), is_error=True)
            case Command():
                self._prompt.remember(message.text)
                self._prompt.text = ""
                await self._do(parsed)
            case _:
                await self._send(parsed.text, message.text)

    async def _send(self, text: str, typed: str) -> None:
        if not self._chat.can_send:
            self.notify("still busy: Esc stops the answer; your text stays here", timeout=4)
            return
        self._prompt.remember(typed)
        self._prompt.text = ""
        await self._begin(self._chat.send(text))

    async def _begin(self, turn: Turn) -> None:
        self._strip.turn_started()
        self._view = await self._log.add_turn(turn)
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
                self._view = None
                await self._log.clear()
                self._prompt.focus()
            case "copy":
                where = await asyncio.to_thread(
                    copy, outcome.payload, self.app.copy_to_clipboard, dict(os.environ)
                )
                await self._log.add_notice(where)
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
        self._commands.update("\n".join(f" {e.usage:<26}{e.summary}" for e in entries[:6]))
        self._commands.display = bool(entries)

    # Keys

    def action_escape(self) -> None:
        """Stop the answer, else go to the prompt."""
        if self._chat.stop():
            self._refresh_chrome()
        else:
            self._prompt.focus()

    def action_interrupt(self) -> None:
        """Copy the selection, else stop, else clear the prompt, else quit at the second time."""
        selected = self._prompt.selected_text or self.get_selected_text()
        if selected:
            self.app.copy_to_clipboard(selected)
            self.clear_selection()
            self.notify("copied", timeout=2)
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

    async def action_think(self) -> None:
        """Think, or not, from the next answer on."""
        await self._do(Command("think", "off" if self._chat.is_thinking_on else "on"))

    async def action_command(self, name: str) -> None:
        """Do a command that takes nothing."""
        await self._do(Command(name, ""))

    def action_fold(self) -> None:
        """Unfold all reasoning if all is folded, else fold it."""
        folds = [view.think for view in self._log.query(TurnView) if view.turn.reasoning]
        is_any_open = any(not fold.is_folded for fold in folds)
        for fold in folds:
            fold.fold(is_any_open)

    def action_panel(self) -> None:
        """Show or hide the side panel."""
        self.toggle_class("-no-panel")

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
