"""From an untrusted file to a `GgufPart`: strict, bounded, one sentence for every fault.

Counts are held against the file's size before anything is kept; texts over 256 KiB and all arrays
stay on disk. A file that passes here passes llama.cpp's own parser.

Source: GGUF specification (ggml docs/gguf.md); llama.cpp ggml/src/gguf.cpp, whose rules on
alignment, contiguous tensors and duplicates are kept.
"""

import struct
from pathlib import Path
from typing import Final, NoReturn

from edgespec.gguf.cursor import Cursor, Readable
from edgespec.gguf.part import (
    AGAIN,
    ARRAY,
    MAX_REGION_BYTES,
    NUMBER_CODES,
    STRING,
    UINT32,
    GgufArray,
    GgufPart,
    GgufTensor,
    Value,
    refuse,
    shown,
)
from edgespec.gguf.tables import (
    DEFAULT_ALIGNMENT,
    MAX_DIMS,
    MAX_TENSOR_NAME_BYTES,
    NEWEST_TENSOR_TYPE,
    TENSOR_TYPES,
)

_MAX_KEYS: Final = 4096
_MAX_TENSORS: Final = 65_536
_MAX_KEY_BYTES: Final = 65_535
_KEPT_TEXT_BYTES: Final = 1 << 18
_KEPT_TEXTS_BYTES: Final = 1 << 22
_MAX_TEXTS: Final = 1 << 21
"""In all arrays together; the largest tokenizers have 0.8 million tokens and merges."""
_MIN_KEY_BYTES: Final = 8 + 1 + 4 + 1
_MIN_TENSOR_BYTES: Final = 8 + 1 + 4 + 8 + 4 + 8


def parse_part(
    path: Path, cursor: Cursor, far: Readable | None = None, known: GgufPart | None = None
) -> GgufPart:
    """Read metadata and tensor entries; `cursor` stands behind the magic.

    `far`: the file, where it is not on this machine. `known`: a file that was read before; where a
    list of texts is the same in both, byte for byte, it is not walked through again.

    Raises: `ModelFileError` with what is wrong and the numbers.
    """
    try:
        return _Parser(path, cursor, known).part(far)
    except EOFError:
        refuse(path, f"is truncated: it ends inside its header, after {cursor.size_bytes:,} bytes")


class _Parser:
    """The sections in file order; each step holds its counts against the bytes that are left."""

    def __init__(self, path: Path, cursor: Cursor, known: GgufPart | None) -> None:
        self.path = path
        self.cursor = cursor
        self.known = known
        self.kept_bytes = 0
        self.n_texts = 0
        self.values: dict[str, Value] = {}
        self.kinds: dict[str, int] = {}
        self.arrays: dict[str, GgufArray] = {}

    def part(self, far: Readable | None) -> GgufPart:
        cursor = self.cursor
        version = self.version()
        n_tensors, n_keys = cursor.u64(), cursor.u64()
        self.bound("tensors", n_tensors, _MAX_TENSORS, _MIN_TENSOR_BYTES)
        self.bound("keys", n_keys, _MAX_KEYS, _MIN_KEY_BYTES)
        for _ in range(n_keys):
            self.add_key()
        alignment = self.alignment()
        tensors = self.tensors(n_tensors, alignment)
        data_at = _padded(cursor.at, alignment)
        if tensors:
            self.check_size(data_at + tensors[-1].offset + tensors[-1].size_bytes)
        return GgufPart(
            *(self.path, cursor.size_bytes, version, self.values, self.kinds, self.arrays),
            *(tensors, data_at, far),
        )

    def refuse(self, what: str, hint: str = AGAIN) -> NoReturn:
        refuse(self.path, what, hint)

    def version(self) -> int:
        version = self.cursor.u32()
        if version and not version & 0xFFFF:
            self.refuse(
                "is big-endian, made for another kind of processor",
                "get the little-endian file, or convert it with gguf-convert-endian",
            )
        if version == 1:
            self.refuse(
                "is GGUF version 1, which llama.cpp no longer reads; 2 and 3 are read",
                "download a newer file of this model, or convert it again from the original",
            )
        if version not in (2, 3):
            self.refuse(
                f"says it is GGUF version {version}; versions 2 and 3 are known",
                "a file from the future needs a newer edgespec; otherwise " + AGAIN,
            )
        return version

    def bound(self, what: str, n: int, most: int, min_bytes: int) -> None:
        if n > most or n * min_bytes > self.cursor.left_bytes:
            room = min(most, self.cursor.left_bytes // min_bytes)
            self.refuse(f"is damaged: it claims {n:,} {what}, but has room for {room:,}")

    def text(self, what: str, most: int) -> str:
        n_bytes = self.cursor.u64()
        if not 0 < n_bytes <= most:
            self.refuse(f"is damaged: {what} of {n_bytes:,} bytes, from 1 to {most:,} are allowed")
        return self.cursor.take(n_bytes).decode("utf-8", "backslashreplace")

    def add_key(self) -> None:
        cursor, values = self.cursor, self.values
        key = self.text("a key", _MAX_KEY_BYTES)
        self.keep(len(key))
        if key in self.kinds:
            self.refuse(f"is damaged: it has the key {shown(key)} twice")
        kind = self.kinds[key] = cursor.u32()
        if kind == ARRAY:
            self.arrays[key] = self.array(key)
        elif kind == STRING:
            n_bytes = cursor.u64()
            if n_bytes > _KEPT_TEXT_BYTES:
                cursor.skip(n_bytes)
                return
            self.keep(n_bytes)
            values[key] = cursor.take(n_bytes).decode("utf-8", "replace")
        elif kind in NUMBER_CODES:
            code = struct.Struct("<" + NUMBER_CODES[kind])
            values[key] = code.unpack(cursor.take(code.size))[0]
        else:
            self.refuse(f"is damaged: {shown(key)} has the value type {kind}, there are 0 to 12")

    def keep(self, n_bytes: int) -> None:
        self.kept_bytes += n_bytes
        if self.kept_bytes > _KEPT_TEXTS_BYTES:
            self.refuse(f"is damaged: its keys and texts are over {_KEPT_TEXTS_BYTES:,} bytes")

    def array(self, key: str) -> GgufArray:
        cursor = self.cursor
        kind, count = cursor.u32(), cursor.u64()
        if kind != STRING and kind not in NUMBER_CODES:
            self.refuse(f"is damaged: {shown(key)} is an array of the value type {kind}")
        item_bytes = 8 if kind == STRING else struct.calcsize("<" + NUMBER_CODES[kind])
        if count * item_bytes > cursor.left_bytes:
            room = cursor.left_bytes // item_bytes
            self.refuse(
                f"is truncated or damaged: {shown(key)} claims {count:,} items, but at most "
                f"{room:,} are in the file"
            )
        at = cursor.at
        if kind == STRING:
            self.n_texts += count
            if self.n_texts > _MAX_TEXTS:
                self.refuse(f"is damaged: its lists hold over {_MAX_TEXTS:,} texts")
            if not self.skip_known(key, count):
                cursor.skip_strings(count)
        else:
            cursor.skip(count * item_bytes)
        return GgufArray(kind, count, at, cursor.at - at)

    def skip_known(self, key: str, count: int) -> bool:
        """Pass over the texts that the file before has too, if it has. Returns: whether it has."""
        array = self.known.arrays.get(key) if self.known else None
        if self.known is None or array is None or not array.is_text or array.count != count:
            return False
        if array.size_bytes > MAX_REGION_BYTES:
            return False
        return self.cursor.skip_equal(self.known.region(key))

    def alignment(self) -> int:
        kind = self.kinds.get("general.alignment", UINT32)
        alignment = self.values.get("general.alignment", DEFAULT_ALIGNMENT)
        if isinstance(alignment, int) and kind == UINT32 and alignment.bit_count() == 1:
            return alignment
        self.refuse(f"is damaged: its alignment is {alignment!r:.40}, not a power of two")

    def tensors(self, n: int, alignment: int) -> tuple[GgufTensor, ...]:
        tensors = []
        names: set[str] = set()
        offset = 0
        for _ in range(n):
            tensor = self.tensor()
            if tensor.name in names:
                self.refuse(f"is damaged: it has the tensor {shown(tensor.name)} twice")
            if tensor.offset != offset:
                self.refuse(
                    f"is damaged: tensor {shown(tensor.name)} starts at {tensor.offset:,}, but "
                    f"the one before it ends at {offset:,}"
                )
            names.add(tensor.name)
            tensors.append(tensor)
            offset += _padded(tensor.size_bytes, alignment)
        return tuple(tensors)

    def check_size(self, need_bytes: int) -> None:
        have_bytes = self.cursor.size_bytes
        if have_bytes < need_bytes:
            self.refuse(f"is truncated: it has {have_bytes:,} of {need_bytes:,} bytes")

    def tensor(self) -> GgufTensor:
        cursor = self.cursor
        name = self.text("a tensor name", MAX_TENSOR_NAME_BYTES)
        n_dims = cursor.u32()
        if not 1 <= n_dims <= MAX_DIMS:
            self.refuse(f"is damaged: tensor {shown(name)} has {n_dims} dimensions, not 1 to 4")
        dims = tuple(cursor.u64() for _ in range(n_dims))
        type_id, offset = cursor.u32(), cursor.u64()
        if type_id not in TENSOR_TYPES:
            age = "newer" if type_id > NEWEST_TENSOR_TYPE else "older"
            self.refuse(
                f"stores tensor {shown(name)} as type {type_id}, unknown to this llama.cpp",
                f"it was made by a {age} llama.cpp, or is damaged: get another file of this model",
            )
        kind = TENSOR_TYPES[type_id]
        n_elements = 1
        for dim in dims:
            n_elements *= dim
        if not 0 < n_elements < 1 << 63 or dims[0] % kind.block:
            self.refuse(
                f"is damaged: tensor {shown(name)} of {kind.name} has the shape {list(dims)}"
            )
        size_bytes = n_elements // kind.block * kind.block_bytes
        return GgufTensor(name, dims, type_id, offset, size_bytes, n_elements)


def _padded(n: int, alignment: int) -> int:
    return -(-n // alignment) * alignment
