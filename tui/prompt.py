"""The message a person writes: several lines, Enter sends, history at the edges."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from unicodedata import category

from rich.text import Text
from textual.events import Key, Paste
from textual.message import Message
from textual.widgets import TextArea

from edgespec.text.clean import masked

from .completion import Completion
from .keys import keys_of

if TYPE_CHECKING:
    from edgespec.chat.commands import Entry

NEWLINE_KEYS = keys_of("break_line")
MAX_WRAPPED, MAX_WRAPPED_LINES = 20_000, 2_000
"""A longer line is scrolled, not wrapped, and so are all where there are more of them."""


class Written(TextArea):
    """Text that is edited, whatever it holds."""

    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn: what a terminal would take for a command is a sign instead.

        The text itself stays as it is, to be sent as it was pasted.
        """
        return Text(masked(self.document.get_line(line_index)), end="", no_wrap=True)


class Prompt(Written):
    """Enter sends; Ctrl+J, Alt+Enter and Shift+Enter break the line."""

    class Submitted(Message):
        """A person pressed Enter; the text is empty where there is none."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Marked(Message):
        """Another command of the completion is marked."""

    def __init__(self) -> None:
        super().__init__(
            id="prompt",
            highlight_cursor_line=False,
            show_line_numbers=False,
            placeholder="Message   Enter send, Ctrl+J new line, / commands",
        )
        self.cursor_blink = False  # nothing on this screen moves by itself
        self.completion = Completion()
        self.earlier: Callable[[], list[str]] = list
        """Messages of other chats, the latest at the end; asked when the up key gets there."""
        self._history: list[str] = []
        self._is_whole = False
        """Whether the earlier ones are among them."""
        self._back = 0
        """How many messages back; 0: the one being written."""
        self._unsent = ""

    def put(self, text: str) -> None:
        """Replace the text, cursor at its end."""
        can_wrap = _can_wrap(text.split("\n"))
        self.soft_wrap = self.soft_wrap and can_wrap  # of what is there, and of what comes
        self.text = text
        self.soft_wrap = can_wrap
        self.move_cursor(self.document.end)

    def on_paste(self, event: Paste) -> None:
        """Before the text area takes it: to wrap a megabyte in one line takes seconds."""
        event.stop()  # the screen takes what is pasted elsewhere
        self.soft_wrap = self.soft_wrap and _can_wrap(event.text.splitlines())

    def type_on(self, text: str) -> None:
        """Take what was typed or pasted elsewhere and is meant for the message."""
        self.soft_wrap = self.soft_wrap and _can_wrap(text.splitlines())
        self.insert(text)

    def on_text_area_changed(self) -> None:
        """Wrap again once the long line is gone; find what commands it may become."""
        self.completion.follow(self.text)
        self.soft_wrap = self.soft_wrap or _can_wrap(self.document.lines)

    def remember(self, text: str) -> None:
        """Keep a sent message for the up key."""
        if not self._history or self._history[-1] != text:
            self._history.append(text)
        self._back = 0

    def know(self, texts: list[str]) -> None:
        """Messages of a chat that is shown: what the up key brings first."""
        self._history, self._back, self._is_whole = texts, 0, False

    async def on_key(self, event: Key) -> None:
        """Keys that must keep their place among the characters around them.

        A binding would bubble up first and break the line after what was typed behind it.
        """
        if event.key in NEWLINE_KEYS:
            self.insert("\n")
        elif event.key == "enter":
            self._enter()
        elif event.character is not None and category(event.character) == "Cf":
            self.insert(event.character)  # joins letters (Persian) and emoji; "not printable"
        elif event.key == "ctrl+z" and not self.history.undo_stack:
            await self.run_action("screen.suspend")
        elif event.key == "tab" and (command := self._command()) is not None:
            self.put(f"/{command.name} ")
        elif event.key == "tab":
            await self.run_action("screen.newest_turn")
        else:
            return
        event.stop()
        event.prevent_default()

    def _command(self) -> "Entry | None":
        """The command that is marked for the text as it is: keys may come before its message."""
        self.completion.follow(self.text)
        return self.completion.marked

    def _enter(self) -> None:
        if self.text.endswith("\\"):
            self.put(self.text[:-1] + "\n")
            return
        command = self._command()
        if command is not None and self.text[1:].lower() not in (command.name, *command.aliases):
            self.put(f"/{command.name}{' ' * command.needs_argument}")
            if command.needs_argument:
                return
        self.post_message(self.Submitted(self.text.strip("\n") if self.text.strip() else ""))

    def _marks(self, by: int) -> bool:
        """Whether an arrow marks another command: not among messages that were recalled."""
        if self._back or self._command() is None:
            return False
        self.completion.step(by)
        self.post_message(self.Marked())
        return True

    def action_cursor_up(self, select: bool = False) -> None:
        """Up; on the first row the message before, or the command before."""
        if not select and self._marks(-1):
            return
        if select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        elif self._back < len(self._history) or self._reaches_back():
            if self._back == 0:
                self._unsent = self.text
            self._back += 1
            self._recall()

    def _reaches_back(self) -> bool:
        """Whether there is a message before the first of this chat."""
        if self._is_whole:
            return False
        self._is_whole = True
        own = set(self._history)
        self._history[:0] = [text for text in self.earlier() if text not in own]
        return self._back < len(self._history)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down; on the last row the message after, or the command after."""
        if not select and self._marks(1):
            return
        if select or not self.navigator.is_last_wrapped_line(self.cursor_location):
            super().action_cursor_down(select)
        elif self._back:
            self._back -= 1
            self._recall()

    def _recall(self) -> None:
        self.put(self._history[-self._back] if self._back else self._unsent)


def _can_wrap(lines: Sequence[str]) -> bool:
    return len(lines) <= MAX_WRAPPED_LINES and all(len(line) <= MAX_WRAPPED for line in lines)
