"""Files that a command writes where its user said: whether that can be, and that it was.

Knows no format, and nothing of stdout.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgespec.errors import EdgespecError, UsageError


def check_file(file: Path) -> None:
    """Raises: `UsageError` before the work, for what could not be kept after it."""
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent} is not a folder", hint="name a file in one that is there")
    if file.is_dir():
        raise UsageError(f"{file} is a folder", hint=f"name a file in it: {file / 'FILE'}")
    _check_writable(file if file.exists() else file.parent)


def check_folder(folder: Path) -> None:
    """The same of a folder, which is made where it is missing."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise UsageError(f"{there} is not a folder", hint="name another one")
    _check_writable(there)


def _check_writable(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise UsageError(f"{path} may not be written", hint="name another place")


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """What is written to `path` inside gets there. Raises: `EdgespecError` where it does not."""
    try:
        yield
    except OSError as error:
        raise EdgespecError(
            f"{path} cannot be written: {error.strerror or error}",
            hint="make room there, or name another place",
        ) from error
