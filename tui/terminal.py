"""What terminals do that Textual does not expect: five gaps of version 8.2.8, closed.

Knows nothing of the chat.
"""

import codecs
import logging
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from rich.cells import cell_len
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.events import Paste
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
_INNER = re.compile(r"[\r\n]+[^\r\n]")
"""A line's end that more follows."""
_TEXT = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
_LEAST_BURST = 8
"""Characters: nobody types so many between two looks at the terminal."""
_LOOK_S = 0.25
"""Textual looks ten times a second; later, what is there may have been typed meanwhile."""
_FLOW_S = 0.1
"""A long paste comes in pieces, each so soon after the one before."""


class PasteParser(XTermParser):
    """Textual's, for which an escape sequence inside a paste is text like the rest.

    Its own (textual/_xterm_parser.py) takes what follows an ESC in a paste for keys: a pasted text
    could send messages, open the editor, or quit. Here a pasted text loses its ESCs.

    Lines that come at once are a paste too: a terminal that does not mark one would send each.
    """

    def __init__(self, debug: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._looked_s = -math.inf
        """When there was nothing more to read; before the first time all was typed ahead."""
        self._burst_s = -math.inf
        self._is_pasting = False
        self._tail = ""
        """Outside a paste: what was read last, which may be the first part of a paste's sign."""
        self._held = ""
        """Inside one: what may be the first part of the sign that ends it."""

    def feed(self, data: str) -> Iterable[Message]:
        """Take what was read; "" is the end."""
        if not data:
            yield from super().feed(data)
        elif self._is_burst(data):
            self._burst_s = self._clock()
            yield Paste(data)
        elif text := self._without_escapes(data):
            yield from super().feed(text)

    def tick(self) -> Iterable[Message]:
        """All that was there has been read."""
        self._looked_s = self._clock()
        yield from super().tick()

    def _is_burst(self, data: str) -> bool:
        """Whether a terminal that does not mark a paste brings one: whole lines, and no keys."""
        is_inside_a_key = self._awaiting.timeout is not None
        if self._is_pasting or is_inside_a_key or not _TEXT.fullmatch(data):
            return False
        now_s = self._clock()
        if now_s - self._burst_s <= _FLOW_S:
            return len(data) > 1  # by itself it is a key
        is_at_once = now_s - self._looked_s <= _LOOK_S
        return is_at_once and len(data) >= _LEAST_BURST and bool(_INNER.search(data))

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
