"""The line-by-line chat: for screen readers, dumb terminals and people who prefer it.

Same conversation and commands as the TUI's; answers go to stdout, everything else to stderr.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from edgespec.chat.commands import Command, Say, Unknown, help_lines, parse, run
from edgespec.chat.commands_answers import turn_text
from edgespec.chat.commands_history import opened_sentence
from edgespec.chat.commands_options import choices_text
from edgespec.chat.controller import ChatController, Turn
from edgespec.chat.outcome import Outcome
from edgespec.chat.turns import ContextFull, LoadProgress, Notice, Returned, Update
from edgespec.cli.explain import explained
from edgespec.cli.interrupts import stopping
from edgespec.cli.render import PASTE_S, Screen
from edgespec.cli.wording import draft_line, loading_line, reading_line, speed_line
from edgespec.errors import EdgespecError
from edgespec.events import Delta

KEYS = """\
Ctrl-C stops an answer and keeps what was said; with nothing to stop it clears the line, and the
second time it leaves, as Ctrl-D does. Up and Down bring back earlier messages.
A line that ends with \\ goes on in the next one; lines that are pasted together are one message."""
_JOT_S = 0.5
"""So often the line that is being typed is looked at."""
_USAGE_WIDTH = 28
_LONG_PROMPT = 1000
"""From so many tokens on, reading is worth a word where no status line can be shown."""


def repl(
    screen: Screen, chat: ChatController, *, with_stats: bool, with_reasons: bool = False
) -> None:
    """Talk until /quit or the end of input. Raises: `KeyboardInterrupt` at the second Ctrl-C."""
    _Talk(screen, chat, with_stats, with_reasons).run()


def wait_for_model(screen: Screen, chat: ChatController) -> None:
    """Show loading until it ends. Raises: what stopped it."""
    for update in chat.follow():
        if isinstance(update, LoadProgress):
            screen.status(loading_line(update.phase, update.fraction))
        elif isinstance(update, Notice):
            screen.note(update.text)
    if chat.load_error is not None:
        raise chat.load_error


@dataclass(slots=True)
class _Talk:
    """One session at the prompt."""

    screen: Screen
    chat: ChatController
    with_stats: bool
    with_reasons: bool
    edited: Turn | None = None
    """What is sent next takes its place."""
    draft: str = ""
    """What stands in the line when the person begins to type."""
    begun: list[str] = field(default_factory=list)
    """The lines above it."""
    told: set[str] = field(default_factory=set)
    """What was said once about this answer, where no status line can be shown."""

    def run(self) -> None:
        self._greet()
        while (text := self._message()) is not None:
            match parse(text):
                case Say(said) if said.strip():
                    self._say(said)
                case Say():
                    self.edited = None
                case Unknown(sentence):
                    self.screen.note(sentence)
                case Command("quit"):
                    return
                case Command() as command:
                    self._obey(command)

    def _greet(self) -> None:
        chat, screen = self.chat, self.screen
        if chat.description is not None and (why := chat.description.drafter_note):
            screen.note(f"draft: {why}")
        if chat.chats.state.word == "PRIVATE":
            screen.note("this chat is private: nothing of it is saved.")
        if screen.is_typed:
            screen.remember(chat.chats.prompts())
            self._bring_back(chat.chats.jotted())
        if chat.turns:
            screen.note(opened_sentence(chat))
            screen.note(turn_text(chat.turns[-1]))
            screen.remember([turn.prompt for turn in chat.turns])
        screen.note("Type a message, then Enter. /help lists the commands.")

    def _bring_back(self, typed: str) -> None:
        if typed:
            self.screen.note("not sent the last time, and here again:")
            *self.begun, self.draft = typed.split("\n")
            for line in self.begun:
                self.screen.note(line)

    def _message(self) -> str | None:
        """What the person typed, lines joined; None at the end of input."""
        lines, self.begun = self.begun, []
        has_interrupted = is_pasted = False
        while True:
            for update in self.chat.drain():
                self._tell(update)
            start, self.draft = self.draft, ""
            prompt = "... " if lines else "edit> " if self.edited else "you> "
            is_typed_ahead = (
                self.screen.has_line()
            )  # with Enter after each, before it was asked for
            try:
                with self._jotting(lines, start):
                    line = self.screen.read_line(prompt, start)
            except KeyboardInterrupt:
                if has_interrupted or not self.screen.is_typed:
                    raise
                has_interrupted, lines, self.edited = True, [], None
                self.chat.chats.jot("")
                self.screen.note("\ncleared; Up brings it back, Ctrl-C again leaves")
                continue
            if line is None:
                return "\n".join(lines) if lines else None
            is_pasted = (is_pasted or not is_typed_ahead) and self._goes_on(line)
            if not is_pasted and not line.endswith("\\"):
                self.chat.chats.jot("")
                return "\n".join([*lines, line])
            lines.append(line.removesuffix("\\"))
            self.chat.chats.jot("\n".join(lines))

    def _goes_on(self, line: str) -> bool:
        """Whether the next line was pasted with this one: a dumb terminal does not say so."""
        return not line.startswith("/") and self.screen.has_line(PASTE_S)

    @contextmanager
    def _jotting(self, lines: list[str], start: str) -> Iterator[None]:
        """Keep the line that is being typed too: the editor tells nobody of it."""
        is_read, kept = threading.Event(), start

        def listen() -> None:
            nonlocal kept
            while not is_read.wait(_JOT_S):
                typed = self.screen.line_so_far
                if typed != kept and not is_read.is_set():
                    kept = typed
                    self.chat.chats.jot("\n".join([*lines, typed]))

        listener = threading.Thread(target=listen, name="edgespec-jot", daemon=True)
        if self.screen.is_typed:
            listener.start()
        try:
            yield
        finally:
            is_read.set()
            if listener.is_alive():
                listener.join()

    def _say(self, text: str) -> None:
        chat = self.chat
        if not chat.can_send:
            self.screen.note(choices_text(chat) if chat.full else "one message waits already")
            return
        edited, self.edited = self.edited, None
        turn = chat.send(text) if edited is None else chat.edit(edited, text)
        self._follow(turn)

    def _obey(self, command: Command) -> None:
        try:
            outcome = run(self.chat, command)
        except EdgespecError as error:
            self.screen.error(error.message, error.hint)
            return
        self._show(outcome)
        if outcome.effect in ("sent", "follow"):
            self._follow(outcome.turn)

    def _show(self, outcome: Outcome) -> None:
        screen = self.screen
        if outcome.effect == "help":
            for usage, summary in help_lines():
                screen.note(f"{usage:<{_USAGE_WIDTH}}{summary}")
            screen.note(KEYS)
        elif outcome.effect == "copy":
            self._copy(outcome.payload)
        elif outcome.effect == "why":
            told = list(explained(self.chat.model)) if self.chat.model is not None else []
            screen.note("\n".join(told) or "no answer yet")
        elif outcome.effect == "edit":
            self.edited, self.draft = outcome.turn, outcome.payload
            screen.note("edit the message, then Enter; an empty line leaves it as it is")
            if not screen.is_typed:
                screen.note(f"it is: {outcome.payload}")
        elif outcome.text:
            screen.note(outcome.text)
        if outcome.effect == "opened" and self.chat.turns:
            screen.note(turn_text(self.chat.turns[-1]))
            screen.remember([turn.prompt for turn in self.chat.turns])

    def _copy(self, text: str) -> None:
        """To the clipboard, raw; where nobody sits at a terminal, to stdout."""
        screen = self.screen
        if not screen.is_out_terminal or not screen.is_typed or os.environ.get("TERM") == "dumb":
            screen.line(text)
            return
        from edgespec.tui.clipboard import copy

        may_save = not self.chat.conversation.is_private
        said = copy(text, screen.send_to_clipboard, dict(os.environ), may_save=may_save)
        screen.note(str(said))

    def _follow(self, turn: Turn | None) -> None:
        """Print what comes as it grows. The first Ctrl-C stops it, the second goes on up."""
        n_shown = 0
        self.told.clear()
        later: list[Update] = []
        with stopping(self.chat.stop) as caught:
            for update in self.chat.follow():
                if n_shown == 0:
                    self._tell(update)
                elif isinstance(update, Notice | Returned):
                    later.append(update)  # it would stand in the middle of the answer
                new = turn.text[n_shown:] if turn is not None else ""
                n_shown += len(new)
                if new:
                    self.screen.answer(new)
        if turn is not None and turn.status != "queued":
            self._close(turn)
        for update in [*later, *self.chat.drain()]:
            self._tell(update)
        if caught.number not in (None, signal.SIGINT):
            caught.raise_again()

    def _tell(self, update: Update) -> None:
        screen = self.screen
        match update:
            case Notice(text):
                screen.note(text)
            case LoadProgress(phase, fraction):
                screen.status(loading_line(phase, fraction))
            case Returned(_, text):
                screen.note(f"not sent: {text}")
                screen.remember([text])
            case ContextFull():
                screen.note(choices_text(self.chat))
            case Delta(kind="reasoning"):
                n_tokens = sum(turn.reasoning_tokens for turn in self.chat.turns[-1:])
                self._status(f"thinking: {n_tokens:,} tokens", "thinking")
            case _ if (reading := self.chat.reading) is not None:
                is_long = reading.total - reading.cached >= _LONG_PROMPT
                word = f"reading {reading.total:,} tokens" if is_long else ""
                summary = "for a summary, " if self.chat.state == "SUMMARISING" else ""
                self._status(summary + reading_line(reading), word)
            case _:
                pass

    def _status(self, line: str, word: str) -> None:
        """A line that changes, or one word where the terminal cannot take a line back."""
        if os.environ.get("TERM") != "dumb":
            self.screen.status(line)
        elif self.screen.is_err_terminal and word and word not in self.told:
            self.told.add(word)
            self.screen.note(f"[{word}]")

    def _close(self, turn: Turn) -> None:
        screen = self.screen
        if turn.text:
            screen.end_answer()
        if turn.error is not None:
            screen.error(turn.error.message, turn.error.hint)
            screen.note("your message is kept: /regen answers it again")
        if turn.status == "stopped":
            screen.note("[stopped]")
        if self.with_stats:
            screen.note(f"{speed_line(turn.stats)}; {draft_line(turn.stats)}.")
        if self.with_reasons and self.chat.model is not None:
            for line in explained(self.chat.model):
                screen.note(line)
