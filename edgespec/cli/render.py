"""Everything the CLI prints: stdout carries the answer, stderr carries the talk about it.

The only module that prints. Knows no model and no command.
"""

import base64
import contextlib
import importlib
import io
import os
import select
import shutil
import sys
import threading
from types import ModuleType
from typing import NoReturn, TextIO

from edgespec.cli.interrupts import unmissed
from edgespec.errors import EdgespecError
from edgespec.text.clean import CleanStream, clean

PASTE_S = 0.02
"""So soon a pasted line is followed by the next one."""


class ReaderGone(Exception):
    """The process that read our output has closed it: there is nobody left to talk to."""


class Screen:
    """stdout and stderr of one process; log records come from any thread.

    Output never fails on an encoding (a character it lacks is written as its escape). What goes
    to a terminal is stripped of control characters; a pipe or a file gets the text as it is.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = out if out is not None else sys.stdout
        self._err = err if err is not None else sys.stderr
        for stream in (self._out, self._err):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        self._held = ""
        self._cleaner = CleanStream()
        self._has_status, self._status = False, ""
        self._lock = threading.RLock()

    @property
    def is_out_terminal(self) -> bool:
        """Whether a person watches stdout."""
        return _is_terminal(self._out)

    @property
    def is_err_terminal(self) -> bool:
        """Whether a person watches stderr."""
        return _is_terminal(self._err)

    @property
    def speaks_utf8(self) -> bool:
        """Whether stdout can show every character."""
        return (getattr(self._out, "encoding", None) or "").lower().replace("-", "") == "utf8"

    def answer(self, text: str) -> None:
        """Append to the answer. Newlines at its end wait until `end_answer` or more text."""
        text = self._held + (self._cleaner.feed(text) if self.is_out_terminal else text)
        body = text.rstrip("\n")
        self._held = text[len(body) :]
        self._write_out(body)

    def end_answer(self) -> None:
        """Finish the answer with exactly one newline."""
        self._held, self._cleaner = "", CleanStream()
        self._write_out("\n")

    def line(self, text: str = "") -> None:
        """One line of data on stdout."""
        self._write_out((clean(text) if self.is_out_terminal else text) + "\n")

    def note(self, text: str = "") -> None:
        """One line of talk on stderr."""
        self._write_err(clean(text) + "\n")

    def error(self, message: str, hint: str = "") -> None:
        """A failure: what happened in one sentence, then what to do about it."""
        self.note(f"edgespec: {message}")
        if hint:
            self.note(f"hint: {hint}")

    def unwritten(self) -> EdgespecError | None:
        """Why stdout does not take what was printed, by others than this screen too."""
        try:
            _write(self._out, "")
        except EdgespecError as error:
            return error
        return None

    @property
    def is_unread(self) -> bool:
        """Whether stdout is a pipe whose reader has closed it."""
        if not hasattr(select, "poll"):
            return True  # Windows: asked only once a pipe is broken, which is hardly another
        poll = select.poll()
        poll.register(self._out, 0)
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))

    def send_to_clipboard(self, text: str) -> None:
        """Ask the terminal to take `text` (OSC 52); it does not say whether it did."""
        coded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
        self._write_out(f"\x1b]52;c;{coded}\a")

    def status(self, text: str) -> None:
        """A line that the next output replaces; only where a person watches stderr."""
        if not self.is_err_terminal or os.environ.get("TERM") == "dumb":
            return
        line = clean(text)[: shutil.get_terminal_size().columns - 1]
        with self._lock:
            if self._has_status and line == self._status:
                return
            self.clear_status()
            self._has_status, self._status = True, line  # first: a signal may cut off what follows
            _tell(self._err, line)

    def clear_status(self) -> None:
        """Take the status line away: before others write to the terminal, and at the end."""
        with self._lock:
            if self._has_status:
                self._has_status = False
                _tell(self._err, "\r\x1b[K")

    def ask(self, question: str) -> bool:
        """Whether the person at the terminal agrees; Enter means yes, end of input no."""
        self._write_err(f"{clean(question)} [Y/n] ")
        with unmissed():
            reply = sys.stdin.readline()
        return bool(reply) and reply.strip().lower() in ("", "y", "yes")

    @property
    def is_typed(self) -> bool:
        """Whether a person types, rather than a pipe or a file."""
        return not sys.stdin.closed and sys.stdin.isatty()

    def read_line(self, prompt: str, start: str = "") -> str | None:
        """A line typed by the person, without its newline; None at the end of input.

        `start` stands there to be changed. Piped lines are read without showing the prompt. What
        is typed when Ctrl-C comes can be brought back with the Up key.
        """
        self.clear_status()
        if not self.is_typed:
            with unmissed():
                line = sys.stdin.readline()
            return line.removesuffix("\n") if line else None
        editor = _line_editor()
        if editor is not None and start:
            editor.set_startup_hook(lambda: editor.insert_text(start))
        try:
            return self._input(prompt)
        except EOFError:
            return None
        except KeyboardInterrupt:
            if editor is not None and (typed := editor.get_line_buffer().strip("\n")):
                editor.add_history(typed)
            raise
        finally:
            if editor is not None:
                editor.set_startup_hook(None)

    @property
    def line_so_far(self) -> str:
        """What stands in the line that is being typed; any thread."""
        editor = _line_editor() if self.is_typed else None
        return editor.get_line_buffer().strip("\n\0") if editor is not None else ""

    def has_line(self, within_s: float = 0.0) -> bool:
        """Whether a line that was typed or pasted is there already, or comes so soon."""
        if not self.is_typed or sys.platform == "win32":
            return False
        return bool(select.select([sys.stdin], [], [], within_s)[0])

    def remember(self, lines: list[str]) -> None:
        """Let the Up key bring these back."""
        if self.is_typed and (editor := _line_editor()) is not None:
            for line in lines:
                editor.add_history(line)

    def _input(self, prompt: str) -> str:
        if not self.is_out_terminal:
            self._write_err(prompt)  # `input` would write it into the answers
            prompt = ""
        with unmissed():
            return input(prompt)

    def _write_out(self, text: str) -> None:
        with self._lock:
            self.clear_status()
            _write(self._out, text)

    def _write_err(self, text: str) -> None:
        with self._lock:
            self.clear_status()
            _tell(self._err, text)


def _line_editor() -> ModuleType | None:
    """GNU readline; not on Windows: there the console edits."""
    try:
        return importlib.import_module("readline")
    except ImportError:
        return None


def open_standard_streams() -> None:
    """Give a process that was started with closed streams a null device in their place.

    Otherwise the next file opened, a model say, would become file descriptor 1 or 2. What is read
    may hold bytes that are no text.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")


def drop_output() -> None:
    """Let what is still buffered for a closed pipe go nowhere, in silence."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(null, stream.fileno())
    os.close(null)


def leave(code: int) -> NoReturn:
    """End the process now, with what was printed delivered."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error
    except OSError as error:
        raise EdgespecError(
            f"the output cannot be written: {error.strerror or error}",
            hint="make room there, or let it go elsewhere",
        ) from error


def _tell(stream: TextIO, text: str) -> None:
    with contextlib.suppress(EdgespecError):  # the answer is worth more, and whom to tell?
        _write(stream, text)


def _is_terminal(stream: TextIO) -> bool:
    return not stream.closed and stream.isatty()
