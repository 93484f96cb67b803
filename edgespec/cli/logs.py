"""Where log records go: stderr, or a file while the TUI owns the screen.

Without -v only edgespec's own warnings are shown, as notes: llama.cpp's records say little to a
person, and what is logged as an error also comes as an exception.
"""

import logging
from contextlib import suppress
from pathlib import Path

from edgespec.cli.render import ReaderGone, Screen

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _OnScreen(logging.Handler):
    """Shows records among the other talk on stderr."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(ReaderGone):  # the command meets it too, in a thread that can end
            self._screen.note(self.format(record))


class _Records(_OnScreen):
    """Shows whole records, as -v asks."""


class _Notes(_OnScreen):
    """Shows a warning as a note."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(screen)
        self.addFilter(
            lambda record: (
                record.levelno == logging.WARNING and not record.name.startswith("edgespec.llama")
            )
        )

    def format(self, record: logging.LogRecord) -> str:
        return f"note: {record.getMessage()}"


def show_warnings(screen: Screen) -> None:
    """Show warnings as notes, unless -v or --debug shows every record already."""
    logger = logging.getLogger("edgespec")
    has_records = any(isinstance(handler, _Records) for handler in logger.handlers)
    _drop(logger, _Notes)
    if not has_records:
        logger.addHandler(_Notes(screen))


def log_to_stderr(level: str, screen: Screen) -> None:
    """Show edgespec's and llama.cpp's records from `level` on; the lower of two levels wins."""
    logger = logging.getLogger("edgespec")
    if logger.level == logging.DEBUG:
        return
    _drop(logger, _Records)
    handler = _Records(screen)
    handler.setFormatter(logging.Formatter(_FORMAT))
    if level != "DEBUG":  # a hundred lines of metadata for every load
        handler.addFilter(lambda r: r.levelno >= logging.WARNING or not _is_native(r))
    logger.addHandler(handler)
    logger.setLevel(level)


def log_to_file(path: Path) -> None:
    """Send what -v and --debug would show to a file: the terminal belongs to the TUI now.

    Without them the file gets faults only, and is made when there is the first one.
    """
    logger = logging.getLogger("edgespec")
    _drop(logger, _Notes)
    handler = _LogFile(path, encoding="utf-8", delay=True)
    if not _drop(logger, _Records):
        handler.setLevel(logging.ERROR)
        handler.addFilter(lambda record: not _is_native(record))
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)


class _LogFile(logging.FileHandler):
    """Nobody fails, and nothing is written onto the screen, because there is no room for a log."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Of a write that failed."""


def _is_native(record: logging.LogRecord) -> bool:
    return record.name.startswith("edgespec.llama")


def _drop(logger: logging.Logger, kind: type[logging.Handler]) -> bool:
    dropped = [handler for handler in logger.handlers if isinstance(handler, kind)]
    for handler in dropped:
        logger.removeHandler(handler)
    return bool(dropped)
