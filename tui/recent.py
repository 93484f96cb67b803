"""The last lines of the log, kept in memory for the log screen."""

import time
from collections import deque
from logging import Formatter, Handler, LogRecord
from typing import Protocol, runtime_checkable

from edgespec.text.clean import clean

MAX_LINES = 2000
_CLOCK = "%H:%M:%S"


@runtime_checkable
class Logged(Protocol):
    """An app that keeps the last lines of its log."""

    recent_log: "Recent"


class Recent(Handler):
    """Keeps the last lines of the log, and what a person was told for a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", _CLOCK))
        self.lines: deque[str] = deque(maxlen=MAX_LINES)
        self.logged: deque[str] = deque(maxlen=MAX_LINES)
        """Without what was told, which may quote the conversation: for files and reports."""

    def emit(self, record: LogRecord) -> None:
        """Keep one record; called from any thread."""
        lines = clean(self.format(record)).split("\n")
        self.lines.extend(lines)
        self.logged.extend(lines)

    def told(self, words: str) -> None:
        """Keep a notice that leaves the screen by itself."""
        self.lines.extend(f"{time.strftime(_CLOCK)} notice  {clean(words)}".split("\n"))
