"""One GGUF file's metadata: values in memory, arrays on disk until they are asked for.

Knows the container only: what the keys mean is `shape`'s, which file to open `header`'s.
"""

import hashlib
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from edgespec.errors import ModelFileError
from edgespec.gguf.cursor import Cursor, Readable, split_strings
from edgespec.gguf.tables import MAX_LAYERS

Value = str | int | float | bool

AGAIN: Final = "download it again, or copy it again from where it came"
MAX_REGION_BYTES: Final = 1 << 24
"""Of an array that is taken into memory whole."""
_PIECE_BYTES: Final = 1 << 20
UINT16: Final = 2
UINT32: Final = 4
STRING: Final = 8
ARRAY: Final = 9
NUMBER_CODES: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q",
                       11: "q", 12: "d"}  # fmt: skip
"""Struct codes by value type."""


@dataclass(frozen=True, slots=True)
class GgufArray:
    """Where an array lies: `count` items in `size_bytes` bytes from `at`."""

    kind: int
    count: int
    at: int
    size_bytes: int

    @property
    def is_text(self) -> bool:
        """Whether the items are strings."""
        return self.kind == STRING


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor's entry; `offset` is relative to the data section."""

    name: str
    dims: tuple[int, ...]
    """Innermost first."""
    type_id: int
    offset: int
    size_bytes: int
    n_elements: int


@dataclass(frozen=True, slots=True)
class GgufPart:
    """One file. Arrays, and texts over 256 KiB, are not in memory."""

    path: Path
    size_bytes: int
    version: int
    values: Mapping[str, Value]
    kinds: Mapping[str, int]
    """Value type of each of `values`."""
    arrays: Mapping[str, GgufArray]
    tensors: tuple[GgufTensor, ...]
    data_at: int
    """Where the data section begins."""
    far: Readable | None = None
    """The file itself, where it is not on this machine: `path` then only names it."""

    def region(self, key: str, first: int = 0) -> bytes:
        """The bytes of array `key` as they lie in the file; of numbers, from item `first` on.

        Raises: `ModelFileError` when the file cannot be read any more or the array is absurd.
        """
        array = self.arrays[key]
        if array.size_bytes > MAX_REGION_BYTES:
            refuse(self.path, f"has {array.size_bytes:,} bytes of {shown(key)}, which no model has")
        return next(self._pieces(array, first, MAX_REGION_BYTES), b"")

    def digest(self, key: str) -> str:
        """The sha256 of array `key` as it lies in the file, whatever its size."""
        digest = hashlib.sha256()
        for piece in self._pieces(self.arrays[key]):
            digest.update(piece)
        return digest.hexdigest()

    def _pieces(
        self, array: GgufArray, first: int = 0, piece_bytes: int = _PIECE_BYTES
    ) -> Iterator[bytes]:
        """The array's bytes from item `first` on, `piece_bytes` at a time."""
        skipped = 0 if array.is_text else first * (array.size_bytes // max(array.count, 1))
        at, left = array.at + skipped, array.size_bytes - skipped
        try:
            with self._opened() as (file, size_bytes):
                cursor = Cursor(file, size_bytes, at)
                while left:
                    n_bytes = min(left, piece_bytes)
                    yield cursor.take(n_bytes)
                    left -= n_bytes
        except (EOFError, OSError) as error:
            raise _changed(self.path) from error

    @contextmanager
    def _opened(self) -> Iterator[tuple[Readable, int]]:
        """The file, and its size as it is now."""
        if self.far is not None:
            yield self.far, self.size_bytes
            return
        with self.path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size

    def texts(self, key: str) -> list[bytes]:
        """The strings of array `key`."""
        try:
            return split_strings(self.region(key), self.arrays[key].count)
        except EOFError as error:
            raise _changed(self.path) from error

    def numbers(self, key: str, first: int = 0) -> tuple[float, ...]:
        """The numbers of array `key`, from item `first` on."""
        array = self.arrays[key]
        return struct.unpack(
            f"<{array.count - first}{NUMBER_CODES[array.kind]}", self.region(key, first)
        )

    def few_numbers(self, key: str) -> tuple[float, ...]:
        """The numbers of array `key` where they can be one by layer: empty where there is none,
        where it holds texts, or more than any model has layers."""
        array = self.arrays.get(key)
        if array is None or array.is_text or array.count > MAX_LAYERS:
            return ()
        return self.numbers(key)


def refuse(path: Path, what: str, hint: str = AGAIN) -> NoReturn:
    """Raise the `ModelFileError` "<file name> <what>"."""
    raise ModelFileError(f"{path.name} {what}", hint=hint)


def shown(text: str | bytes) -> str:
    """Text from an untrusted file for a message: quoted, one line, no control characters."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _changed(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path.name} changed while it was in use", hint="wait until its download has ended"
    )
