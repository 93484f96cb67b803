"""An unfinished download: bytes that a killed process leaves, and the next one continues.

The hash is taken while bytes are written; of what an earlier process left, when it is opened.
"""

import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from edgespec.store.progress import Meter

_CHUNK_BYTES = 1 << 20


class PartFile:
    """A file that only grows, until it is whole or started over."""

    def __init__(self, path: Path, meter: Meter) -> None:
        """Open or create; `meter` hears about hashing what was kept."""
        self.path = path
        self.done_bytes = 0
        self._digest = hashlib.sha256()
        # Unbuffered: what was counted survives a kill.
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115
        self._file.seek(0)
        try:
            while chunk := self._file.read(_CHUNK_BYTES):
                self._digest.update(chunk)
                self.done_bytes += len(chunk)
                meter.at(self.done_bytes)
        except BaseException:
            self._file.close()
            raise

    @property
    def sha256(self) -> str:
        """Of what is there."""
        return self._digest.hexdigest()

    def append(self, chunk: bytes) -> None:
        """Write and hash. Raises: `OSError`, after which the file is as long as `done_bytes`."""
        view = memoryview(chunk)
        while view:
            written = self._file.write(view)
            assert written, self.path
            self._digest.update(view[:written])
            self.done_bytes += written
            view = view[written:]

    def restart(self) -> None:
        """Throw away what is there."""
        self._file.truncate(0)
        self._digest = hashlib.sha256()
        self.done_bytes = 0

    def move_to(self, target: Path) -> None:
        """Close, and give the whole file its name at once."""
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self.path, target)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
