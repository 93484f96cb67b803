"""What a person is typing and has not sent: one small file for each process that has some.

It may have a second one, lent to an editor. A process that dies leaves its files; one that starts
takes the newest of those. Nothing here raises: what cannot be kept is still on the screen.
"""

import logging
import os
import re
from contextlib import suppress
from pathlib import Path

from edgespec.files import write_whole
from edgespec.text.turns import encodable

logger = logging.getLogger(__name__)

_PREFIX = "unsent-"
_NAME = re.compile(rf"{_PREFIX}(\d+)\.(?:txt|md)")


class Unsent:
    """One process's files, beside the history."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"{_PREFIX}{os.getpid()}.txt"
        self._is_there = False

    @property
    def lent(self) -> Path:
        """For an editor, which is not there yet; `taken` finds what it saved."""
        return self._path.with_suffix(".md")

    def keep(self, text: str) -> None:
        """Put `text` in place of what was kept; an empty one leaves no file."""
        try:
            if text:
                write_whole(self._path, encodable(text))
            elif self._is_there:
                self._path.unlink(missing_ok=True)
            self._is_there = bool(text)
        except OSError as error:
            logger.info("what is being typed was not kept: %s", error)

    def taken(self) -> str:
        """The newest text that a process left which is no more; empty: there is none.

        It is this process's from now on: `keep` replaces it.
        """
        for path in sorted(self._folder.glob(f"{_PREFIX}*"), key=_written_s, reverse=True):
            number = _NAME.fullmatch(path.name)
            if number is None or (number[1] != str(os.getpid()) and is_running(int(number[1]))):
                continue
            with suppress(OSError, UnicodeDecodeError):
                os.replace(path, self._path)  # of two that start at once, one gets it
                self._is_there = True
                is_edited = path.suffix == ".md"
                errors = "replace" if is_edited else "strict"
                text = self._path.read_text(encoding="utf-8", errors=errors)
                text = text.removesuffix("\n") if is_edited else text  # editors end the last line
                if text:
                    self._drop_others(path)
                    return text
        return ""

    def _drop_others(self, taken: Path) -> None:
        """The other file of that process: what it holds is older."""
        for suffix in (".txt", ".md"):
            if (other := taken.with_suffix(suffix)) not in (taken, self._path):
                with suppress(OSError):
                    other.unlink()


def _written_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0  # taken by another process meanwhile


def is_running(pid: int) -> bool:
    """Whether a process of that number is there, whoever's it is."""
    if os.name != "nt":
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True  # another user's
        return True
    import psutil  # there `kill` would end the process

    return bool(psutil.pid_exists(pid))
