"""GGUF files byte by byte, so that a test can write what no writer would."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

U32, STRING, ARRAY = 4, 8, 9


def packed_text(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def text_key(key: str, value: str) -> bytes:
    return packed_text(key.encode()) + struct.pack("<I", STRING) + packed_text(value.encode())


def u32_key(key: str, value: int) -> bytes:
    return packed_text(key.encode()) + struct.pack("<II", U32, value)


def u16_key(key: str, value: int) -> bytes:
    return packed_text(key.encode()) + struct.pack("<IH", 2, value)


def flag_key(key: str, value: bool) -> bytes:
    return packed_text(key.encode()) + struct.pack("<IB", 7, value)


def array_key(key: str, kind: int, count: int, items: bytes) -> bytes:
    return packed_text(key.encode()) + struct.pack("<IIQ", ARRAY, kind, count) + items


def tensor(
    name: str, dims: Sequence[int] = (8,), *, kind: int = 0, offset: int = 0, n_dims: int = -1
) -> bytes:
    n_dims = len(dims) if n_dims < 0 else n_dims
    shape = struct.pack(f"<I{len(dims)}Q", n_dims, *dims)
    return packed_text(name.encode()) + shape + struct.pack("<IQ", kind, offset)


KEYS = (
    text_key("general.architecture", "llama"),
    u32_key("llama.block_count", 1),
    u32_key("llama.context_length", 64),
    u32_key("llama.embedding_length", 8),
    u32_key("llama.attention.head_count", 2),
)
"""Enough for a model of one layer."""


@dataclass
class RawGguf:
    """Sections in file order; the counts are right unless a test sets them."""

    keys: Sequence[bytes] = KEYS
    tensors: Sequence[bytes] = field(default_factory=lambda: (tensor("blk.0.attn_norm.weight"),))
    magic: bytes = b"GGUF"
    version: int = 3
    n_keys: int | None = None
    n_tensors: int | None = None
    data: bytes = bytes(32)

    def build(self) -> bytes:
        n_tensors = len(self.tensors) if self.n_tensors is None else self.n_tensors
        n_keys = len(self.keys) if self.n_keys is None else self.n_keys
        head = self.magic + struct.pack("<IQQ", self.version, n_tensors, n_keys)
        head += b"".join(self.keys) + b"".join(self.tensors)
        return head + bytes(-len(head) % 32) + self.data

    def write(self, path: Path) -> Path:
        path.write_bytes(self.build())
        return path
