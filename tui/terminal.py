"""What terminals do that Textual does not expect: four gaps of version 8.2.8, closed.

Knows nothing of the chat.
"""

import codecs
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from rich.cells import cell_len
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.keys import Keys
from textual.message import Message

logger = logging.getLogger(__name__)

_AS_WIDE = "edgespec-as-wide"


def tolerant_driver() -> type[Driver] | None:
    """A driver that survives input which is no UTF-8; None: Textual's own choice (Windows).

    Mouse reports in the old encoding (tmux after an attach) hold bytes above 127; Textual's
    driver (textual/drivers/linux_driver.py) decodes strictly and takes the app down with it.
    """
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER"):
        return None
    from textual.drivers import linux_driver
    from textual.drivers.linux_driver import LinuxDriver

    vars(linux_driver)["XTermParser"] = PasteParser  # the name its input thread looks up

    class TolerantDriver(LinuxDriver):
        def run_input_thread(self) -> None:
            while not self.exit_event.is_set():
                try:
                    return super().run_input_thread()
                except UnicodeDecodeError as error:
                    logger.debug("the terminal sent bytes that are no UTF-8: %s", error)

    return TolerantDriver


_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"


class PasteParser(XTermParser):
    """Textual's, for which an escape sequence inside a paste is text like the rest.

    Its own (textual/_xterm_parser.py) takes what follows an ESC in a paste for keys: a pasted text
    could send messages, open the editor, or quit. Here a pasted text loses its ESCs.
    """

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._is_pasting = False
        self._tail = ""
        """Outside a paste: what was read last, which may be the first part of a paste's sign."""
        self._held = ""
        """Inside one: what may be the first part of the sign that ends it."""

    def feed(self, data: str) -> Iterable[Message]:
        """Take what was read; "" is the end."""
        if not data:
            yield from super().feed(data)
        elif text := self._without_escapes(data):
            yield from super().feed(text)

    def _without_escapes(self, data: str) -> str:
        passed: list[str] = []
        while data:
            read = self._read_paste if self._is_pasting else self._read_keys
            text, data = read(data)
            passed.append(text)
        return "".join(passed)

    def _read_keys(self, data: str) -> tuple[str, str]:
        seen = self._tail + data
        at = seen.find(_PASTE_BEGINS)
        if at < 0:
            self._tail = seen[1 - len(_PASTE_BEGINS) :]
            return data, ""
        n_read = at + len(_PASTE_BEGINS) - len(self._tail)
        self._is_pasting, self._tail = True, ""
        return data[:n_read], data[n_read:]

    def _read_paste(self, data: str) -> tuple[str, str]:
        text, found, rest = (self._held + data).partition(_PASTE_ENDS)
        self._held = "" if found else _begun(text, _PASTE_ENDS)
        self._is_pasting = not found
        return text.removesuffix(self._held).replace("\x1b", "") + found, rest


def _begun(text: str, sign: str) -> str:
    """The beginning of `sign` at the end of `text`."""
    for n in range(len(sign) - 1, 0, -1):
        if text.endswith(sign[:n]):
            return sign[:n]
    return ""


def learn_alt_enter() -> None:
    """Read ESC CR, which terminals without the kitty protocol send, as a line break.

    Textual's parser (textual/_xterm_parser.py) drops the modifier, and Enter would send.
    """
    if isinstance(ANSI_SEQUENCES_KEYS, dict):
        ANSI_SEQUENCES_KEYS.setdefault("\x1b\r", (Keys.ControlJ,))


def never_fail_to_encode() -> None:
    """Textual writes to stderr; a sign its encoding lacks must not end the writer thread."""
    codecs.register_error(_AS_WIDE, _question_marks)
    if isinstance(sys.__stderr__, TextIOWrapper):
        sys.__stderr__.reconfigure(errors=_AS_WIDE)


def _question_marks(error: UnicodeError) -> tuple[str, int]:
    """As many cells as the signs have: what stands behind them on the line keeps its place."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "?" * cell_len(error.object[error.start : error.end]), error.end


@contextmanager
def no_color(is_wanted: bool) -> Iterator[None]:
    """The environment in which Textual leaves colours out, or not.

    Textual takes the variable's mere presence for a wish; empty, it is none (no-color.org).
    """
    before = os.environ.pop("NO_COLOR", None)
    if is_wanted:
        os.environ["NO_COLOR"] = "1"
    try:
        yield
    finally:
        os.environ.pop("NO_COLOR", None)
        if before is not None:
            os.environ["NO_COLOR"] = before
