"""What terminals do that Textual does not expect: three gaps of version 8.2.8, closed.

Knows nothing of the chat.
"""

import codecs
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from rich.cells import cell_len
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.driver import Driver
from textual.keys import Keys

logger = logging.getLogger(__name__)

_AS_WIDE = "edgespec-as-wide"


def tolerant_driver() -> type[Driver] | None:
    """A driver that survives input which is no UTF-8; None: Textual's own choice (Windows).

    Mouse reports in the old encoding (tmux after an attach) hold bytes above 127; Textual's
    driver (textual/drivers/linux_driver.py) decodes strictly and takes the app down with it.
    """
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER"):
        return None
    from textual.drivers.linux_driver import LinuxDriver

    class TolerantDriver(LinuxDriver):
        def run_input_thread(self) -> None:
            while not self.exit_event.is_set():
                try:
                    return super().run_input_thread()
                except UnicodeDecodeError as error:
                    logger.debug("the terminal sent bytes that are no UTF-8: %s", error)

    return TolerantDriver


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
