"""Files that are their owner's alone and are there whole or not at all."""

import os
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
    partial = path.with_name(path.name + PARTIAL)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def owned_folder(path: Path) -> None:
    """Make the folder, which nobody but its owner may enter."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
