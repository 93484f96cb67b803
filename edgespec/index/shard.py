"""One immutable file of the index: documents as token ids, and all their suffixes in order.

Owns the file's format, its checksum, and searching it. Knows neither texts nor which shards there
are. Layout: a header of `HEADER` bytes, the tokens (big-endian, so that comparing bytes compares
sequences), the suffix array (little-endian), both of 32 bits, then the first three tokens of every
64th suffix, by which a search begins near its end. Read through a memory map: opening costs
nothing and a query touches some dozens of pages.
"""

import hashlib
import mmap
import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from edgespec.errors import IndexFault
from edgespec.files import whole
from edgespec.index.suffix_array import BITS, DEPTH, SEPARATOR, Stored, suffix_array

_MAGIC = b"edgespec-suffix\0"
_VERSION = 2
_HEAD = struct.Struct("<16sII32s32sQ")  # magic, version, zero, fingerprint, checksum, n tokens
_THREE = struct.Struct(">3I")
HEADER = 128
WIDTH = 4
"""Bytes of a token."""
_STRIDE = 64
_USUAL = 5
"""Tokens of a match that are tried where nothing is known: enough to stand in few places."""
_KEY = 8
"""Bytes of a signpost: three tokens of `BITS` each."""


class Found(NamedTuple):
    """Where the longest suffix of a context occurs; length 0: nowhere."""

    length: int
    first: int
    """Slots `first` to `end` (exclusive) of the suffix array begin with the last `sought` tokens
    of it, and stand behind the others."""
    end: int
    sought: int


NOTHING = Found(0, 0, 0, 0)


def stored(documents: Iterable[Sequence[int]]) -> Stored:
    """Documents as they lie in a shard: ids one higher, a separator behind each."""
    parts: list[Stored] = []
    for document in documents:
        parts += [np.asarray(document, np.uint32) + 1, np.array([SEPARATOR], np.uint32)]
    return np.concatenate(parts) if parts else np.empty(0, np.uint32)


def write(path: Path, tokens: Stored, fingerprint: bytes) -> None:
    """Sort the suffixes and write the shard: whole and synced, or not at all; mode 0600.

    Raises: `OSError` when the disk is full or the folder cannot be written.
    """
    order = suffix_array(tokens)
    body = [tokens.astype(">u4").data, order.astype("<u4", copy=False).data]
    body.append(_signposts(tokens, order).data)
    del order
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    head = _HEAD.pack(_MAGIC, _VERSION, 0, fingerprint, digest.digest(), len(tokens))
    with whole(path) as file:
        file.write(head.ljust(HEADER, b"\0"))
        for part in body:
            file.write(part)


def _signposts(tokens: Stored, order: Stored) -> npt.NDArray[np.uint64]:
    """The first three tokens of every `_STRIDE`th suffix as one number, in order."""
    at = order[::_STRIDE].astype(np.int64)
    found = np.zeros(len(at), "<u8")
    for i in range(3):
        there = at + i < len(tokens)
        found[there] |= tokens[at[there] + i].astype("<u8") << (BITS * (2 - i))
    return found


def fingerprint_of(path: Path) -> bytes:
    """The vocabulary that a shard was built for. Raises: `IndexFault`."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER)
    except OSError as error:
        raise _unreadable(path, error) from error
    found: bytes = _unpacked(path, head)[3]
    return found


class Shard:
    """An open shard; `close` frees the map. Any thread may search."""

    def __init__(self, path: Path, fingerprint: bytes) -> None:
        """Raises: `IndexFault` for a file that is cut short, foreign, or of another vocabulary."""
        self.path = path
        try:
            with path.open("rb") as file:
                head = file.read(HEADER)
                size = os.fstat(file.fileno()).st_size
                self._n = _checked(path, head, size, fingerprint)
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise _unreadable(path, error) from error
        view = memoryview(self._map)
        end = HEADER + WIDTH * self._n
        # A search is a few dozen comparisons: `bytes` of a map cost a tenth of numpy's.
        slots = view[end : end + WIDTH * self._n]
        self._suffixes = np.frombuffer(slots, "<u4")
        self._slots = slots.cast("I") if np.little_endian else self._suffixes
        self._tokens = np.frombuffer(view[HEADER:end], ">u4")
        signposts = view[end + WIDTH * self._n :]
        self._signposts = (
            signposts.cast("Q") if np.little_endian else np.frombuffer(signposts, "<u8")
        )

    def __len__(self) -> int:
        """Tokens, separators included."""
        return self._n

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def longest(self, context: bytes, least: int, bound: int | None = None) -> Found:
        """The longest suffix of `context` (as `stored` bytes, big-endian) of at least `least`
        tokens that occurs here, looking at no more than `DEPTH` tokens.

        `bound`: no longer one occurs, and this one likely does; None: nothing is known.
        """
        most = min(len(context) // WIDTH, DEPTH)
        length = min(max(least, _USUAL), most)
        if bound is not None:
            length = most = min(most, bound)
        if most < least or not self._n:
            return NOTHING
        first = low = 0  # a suffix of `low` tokens occurs,
        high = most + 1  # of `high` not
        while low + 1 < high:
            if (slot := self._first(context, length)) is None:
                high = length
                if not low and length == least:
                    return NOTHING
            else:
                first, low = slot, length
                if low < most and self._is_alone(context, low, slot):
                    return self._alone(context, low, slot, most)
            if not low:
                length = least
            elif high > most:
                length = most  # long matches are what an index is for
            else:
                length = max(low + 1, isqrt(low * high))  # but short ones are the common ones
        return Found(low, first, self._end(context, low, first), low)

    def _is_alone(self, context: bytes, length: int, slot: int) -> bool:
        """Whether no slot after this one begins with the last `length` tokens of `context`."""
        return slot + 1 == self._n or self._at(slot + 1, WIDTH * length) != _last(context, length)

    def _alone(self, context: bytes, length: int, slot: int, most: int) -> Found:
        """What stands before the one place of the last `length` tokens, and before them."""
        place = int(self._slots[slot])
        n = min(most - length, place)
        start, end = HEADER + WIDTH * place, len(context) - WIDTH * length
        there = int.from_bytes(self._map[start - WIDTH * n : start], "big")
        differing = there ^ int.from_bytes(context[end - WIDTH * n : end], "big")
        if differing:  # its lowest bit is in the last token that differs
            n = ((differing & -differing).bit_length() - 1) // (8 * WIDTH)
        return Found(length + n, slot, slot + 1, length)

    def _first(self, context: bytes, length: int) -> int | None:
        """The first slot that begins with the last `length` tokens of `context`."""
        pattern = _last(context, length)
        low, high = 0, self._n
        if length >= 3:
            posts, key = self._signposts, _key(pattern)
            low = high = bisect_left(posts, key)
            if length > 3 and low < len(posts) and posts[low] == key:
                high = bisect_right(posts, key, low)
            low, high = max(0, low - 1) * _STRIDE, min(high * _STRIDE, self._n)
        data, slots, n_bytes = self._map, self._slots, len(pattern)
        while low < high:
            middle = (low + high) >> 1
            start = HEADER + WIDTH * slots[middle]
            if data[start : start + n_bytes] < pattern:
                low = middle + 1
            else:
                high = middle
        return low if low < self._n and self._at(low, n_bytes) == pattern else None

    def _at(self, slot: int, n_bytes: int) -> bytes:
        start = HEADER + WIDTH * self._slots[slot]
        return self._map[start : start + n_bytes]

    def _end(self, context: bytes, length: int, first: int) -> int:
        """The slot after the last one that begins with the last `length` tokens of `context`, as
        slot `first` does."""
        pattern = _last(context, length)
        n_bytes, step = len(pattern), 1  # mostly it is near
        while first + step < self._n and self._at(first + step, n_bytes) == pattern:
            step *= 2
            if step > _STRIDE and length >= 3:
                return self._far_end(pattern, first + step // 2)
        return self._end_within(pattern, first + step // 2 + 1, min(first + step, self._n))

    def _far_end(self, pattern: bytes, slot: int) -> int:
        """As `_end`, behind many slots; the signposts lead to where the first three tokens end."""
        posts, key = self._signposts, _key(pattern)
        post = bisect_right(posts, key, slot // _STRIDE)
        high = min(post * _STRIDE, self._n)
        low = high - _STRIDE if len(pattern) == 3 * WIDTH else slot
        return self._end_within(pattern, max(low, slot) + 1, high)

    def _end_within(self, pattern: bytes, low: int, high: int) -> int:
        data, slots, n_bytes = self._map, self._slots, len(pattern)
        while low < high:
            middle = (low + high) >> 1
            start = HEADER + WIDTH * slots[middle]
            if data[start : start + n_bytes] == pattern:
                low = middle + 1
            else:
                high = middle
        return low

    def ends(self, found: Found, most: int) -> list[int]:
        """Where up to `most` of the places end, as indexes of tokens, spread evenly over all."""
        slots, first, n, sought = self._slots, found.first, found.end - found.first, found.sought
        if n <= most:
            return [slot + sought for slot in slots[first : found.end].tolist()]
        return [int(slots[first + i * n // most]) + sought for i in range(most)]

    def read(self, start: int, k: int) -> tuple[int, ...]:
        """k tokens from `start` on: stored ids, `SEPARATOR` where a document ended, and behind it
        nothing to rely on."""
        found: tuple[int, ...]
        if start + k <= self._n:
            found = _numbers(k).unpack_from(self._map, HEADER + WIDTH * start)
            return found
        start = min(start, self._n)
        found = _numbers(self._n - start).unpack_from(self._map, HEADER + WIDTH * start)
        return *found, *(SEPARATOR,) * (k - len(found))

    @property
    def tokens(self) -> Stored:
        """All of them, as `stored`: a copy."""
        return self._tokens.astype(np.uint32)

    def verify(self) -> None:
        """Read everything and compare the checksum. Raises: `IndexFault`."""
        digest = hashlib.sha256()
        for start in range(HEADER, len(self._map), 1 << 24):
            digest.update(self._map[start : start + (1 << 24)])
        if digest.digest() != _HEAD.unpack_from(self._map)[4]:
            raise IndexFault(
                f"{self.path.name} is damaged: its bytes are not those that were written",
                hint="edgespec index verify --mend builds it anew from the kept texts",
            )

    def close(self) -> None:
        """Free the map; idempotent."""
        del self._slots, self._suffixes, self._tokens, self._signposts
        self._map.close()


@cache
def _numbers(n: int) -> struct.Struct:
    """That many tokens."""
    return struct.Struct(f">{n}I")


def _key(pattern: bytes) -> int:
    """The signpost of what begins with `pattern`, of three tokens and more."""
    first, second, third = _THREE.unpack_from(pattern)
    key: int = first << (2 * BITS) | second << BITS | third
    return key


def _last(context: bytes, length: int) -> bytes:
    """The last `length` tokens."""
    return context[len(context) - WIDTH * length :]


def _unreadable(path: Path, error: OSError) -> IndexFault:
    return IndexFault(f"{path.name} cannot be read: {error.strerror or error}")


def _unpacked(path: Path, head: bytes) -> tuple[Any, ...]:
    """The fields of `_HEAD`. Raises: `IndexFault`."""
    if len(head) < HEADER or not head.startswith(_MAGIC):
        raise IndexFault(f"{path.name} is not a shard of an index")
    return _HEAD.unpack_from(head)


def _checked(path: Path, head: bytes, size_bytes: int, fingerprint: bytes) -> int:
    """The number of tokens. Raises: `IndexFault`."""
    _, version, _, own, _, n = _unpacked(path, head)
    if version != _VERSION:
        raise IndexFault(f"{path.name} has version {version} of the format, not {_VERSION}")
    if own != fingerprint:
        raise IndexFault(f"{path.name} was built for another vocabulary")
    needed = HEADER + 2 * WIDTH * n + _KEY * -(-n // _STRIDE)
    if size_bytes != needed:
        raise IndexFault(
            f"{path.name} has {size_bytes:,} bytes, but must have {needed:,}",
            hint="edgespec index verify --mend builds it anew from the kept texts",
        )
    return int(n)
