"""The last lines of the log, kept in memory for the log screen."""

from collections import deque
from logging import Formatter, Handler, LogRecord
from typing import Protocol, runtime_checkable

from edgespec.text.clean import clean

MAX_LINES = 2000


@runtime_checkable
class Logged(Protocol):
    """An app that keeps the last lines of its log."""

    recent_log: "Recent"


class Recent(Handler):
    """Keeps the last lines of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(
            Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S")
        )
        self.lines: deque[str] = deque(maxlen=MAX_LINES)

    def emit(self, record: LogRecord) -> None:
        """Keep one record; called from any thread."""
        self.lines.extend(clean(self.format(record)).split("\n"))
