"""The RPC backend's messages, as far as they must be understood to carry and to count them.

A request is a command byte, eight bytes of size, and as many bytes; an answer is eight bytes of
size, and as many bytes. Most requests have no answer. One client at a time, one answer owed at a
time. Pure: no sockets.
Source: llama.cpp ggml/src/ggml-rpc/ggml-rpc.cpp, ggml/include/ggml-rpc.h.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

MAJOR: Final = 7
"""Of the protocol; another one is refused by llama.cpp, which then ends the process."""
MINOR: Final = 0
"""The highest that is understood."""
HEADER: Final = struct.Struct("<BQ")
SIZE: Final = struct.Struct("<Q")
CAPS_BYTES: Final = 24
"""What each end says about other transports than TCP; zeros: none."""
_GREETING: Final = struct.Struct(f"<4B{CAPS_BYTES}s")
_MEMORY: Final = struct.Struct("<2Q")
_ALLOCATE: Final = struct.Struct("<IQ")
_ALLOCATED: Final = struct.Struct("<2Q")
_SOME_ADDRESS: Final = 1 << 32


class Command(IntEnum):
    """The requests, by their byte."""

    ALLOC_BUFFER = 0
    GET_ALIGNMENT = 1
    GET_MAX_SIZE = 2
    BUFFER_GET_BASE = 3
    FREE_BUFFER = 4
    BUFFER_CLEAR = 5
    SET_TENSOR = 6
    SET_TENSOR_HASH = 7
    GET_TENSOR = 8
    COPY_TENSOR = 9
    GRAPH_COMPUTE = 10
    GET_DEVICE_MEMORY = 11
    INIT_TENSOR = 12
    GET_ALLOC_SIZE = 13
    HELLO = 14
    DEVICE_COUNT = 15
    GRAPH_RECOMPUTE = 16
    MEMSET_TENSOR = 17


_ANSWER_BYTES: Final = {
    Command.ALLOC_BUFFER: _ALLOCATED.size,
    Command.GET_ALIGNMENT: SIZE.size,
    Command.GET_MAX_SIZE: SIZE.size,
    Command.BUFFER_GET_BASE: SIZE.size,
    Command.SET_TENSOR_HASH: 1,
    Command.COPY_TENSOR: 1,
    Command.GET_DEVICE_MEMORY: _MEMORY.size,
    Command.GET_ALLOC_SIZE: SIZE.size,
    Command.HELLO: _GREETING.size,
    Command.DEVICE_COUNT: 4,
}


def is_whole(command: int) -> bool:
    """Whether a request of this kind is looked at as a whole; such requests are small.

    All that are answered are; of the others, only the giving back of a buffer.
    """
    return command in _ANSWER_BYTES or command in (Command.GET_TENSOR, Command.FREE_BUFFER)


def answer_bytes(command: int, request: bytes) -> int:
    """The size of the answer, without its size word."""
    if command == Command.GET_TENSOR:
        size: int = SIZE.unpack(request[-SIZE.size :])[0]  # the request ends with it
        return size
    return _ANSWER_BYTES[Command(command)]


def false_answer(command: int, size_bytes: int) -> bytes:
    """What is said in the name of a worker that is gone: well formed, and nothing true in it.

    Every figure is one that llama.cpp takes without ending the process: no memory, nothing
    allocated, tensors of zeros. Whoever reads it must have been told before that it is false.
    """
    match command:
        case Command.HELLO:
            return _GREETING.pack(MAJOR, MINOR, 0, 0, bytes(CAPS_BYTES))
        case Command.GET_ALIGNMENT:
            return SIZE.pack(4096)
        case Command.GET_MAX_SIZE:
            return SIZE.pack(2**64 - 1)
        case Command.BUFFER_GET_BASE:
            return SIZE.pack(_SOME_ADDRESS)  # llama.cpp asserts that it is none; only counts on it
        case Command.SET_TENSOR_HASH | Command.COPY_TENSOR:
            return b"\x01"  # "I have it": nothing more is sent
        case _:
            return bytes(size_bytes)


@dataclass(frozen=True, slots=True)
class Memory:
    """Of one device."""

    free_bytes: int
    total_bytes: int

    def packed(self) -> bytes:
        """As an answer carries it."""
        return _MEMORY.pack(self.free_bytes, self.total_bytes)


def memory_of(answer: bytes) -> Memory:
    """The answer to GET_DEVICE_MEMORY."""
    return Memory(*_MEMORY.unpack(answer))


def version_of(answer: bytes) -> tuple[int, int, int]:
    """The protocol's version in the answer to HELLO."""
    major, minor, patch, _, _ = _GREETING.unpack(answer)
    return major, minor, patch


def speaks(version: tuple[int, int, int]) -> bool:
    """Whether llama.cpp's client takes a worker of this version."""
    return version[0] == MAJOR and version[1] <= MINOR


def wanted_bytes(request: bytes) -> int:
    """How much an ALLOC_BUFFER asks for."""
    size: int = _ALLOCATE.unpack(request)[1]
    return size


def allocated(answer: bytes) -> tuple[int, int]:
    """Which buffer an ALLOC_BUFFER gave, 0 for none, and its size."""
    buffer, size = _ALLOCATED.unpack(answer)
    return buffer, size


def allocation(buffer: int, size_bytes: int) -> bytes:
    """An answer to ALLOC_BUFFER."""
    return _ALLOCATED.pack(buffer, size_bytes)


def buffer_of(request: bytes) -> int:
    """Which buffer a FREE_BUFFER gives back."""
    buffer: int = SIZE.unpack(request)[0]
    return buffer


def without_caps(command: int, answer: bytes) -> bytes:
    """A HELLO's answer that offers no other transport; any other answer as it is."""
    return answer[:-CAPS_BYTES] + bytes(CAPS_BYTES) if command == Command.HELLO else answer
