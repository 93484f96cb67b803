"""Files that are their owner's alone and are there whole or not at all.

Knows neither what is written nor which folders there are.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PARTIAL = ".partial"
"""Ends the name of a file that is being written; one that is left over is nobody's."""


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file of mode 0600 that appears as `path` once it is complete and on the disk.

    Raises: `OSError`; then `path` is as it was, and nothing is left beside it.
    """
    # A name of its own: in a folder that others write to, none of theirs is followed.
    handle, partial = tempfile.mkstemp(PARTIAL, f"{path.name}.", path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise


def write_whole(path: Path, text: str) -> None:
    """The same of a text, in a folder that is made where it is missing. Raises: `OSError`."""
    owned_folder(path.parent)
    with whole(path) as file:
        file.write(text.encode())


def owned_folder(path: Path) -> None:
    """Make the folder, which nobody but its owner may enter."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
