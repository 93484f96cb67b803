"""Asking a worker who it is before llama.cpp does: disappointed, that would end the process."""

import socket

from edgespec.engine.rpc import wire
from edgespec.engine.rpc.endpoint import Endpoint
from edgespec.errors import EngineError

_TIMEOUT_S = 5.0


def greet(worker: Endpoint, *, timeout_s: float = _TIMEOUT_S) -> tuple[wire.Memory, ...]:
    """Check its version, ask for its devices' memory; the connection is given up at once, for
    llama.cpp's.

    Raises: `EngineError` where nobody answers, or not as a worker of our protocol.
    """
    try:
        with socket.create_connection(worker.address, timeout_s) as connection:
            return _ask(worker, connection)
    except TimeoutError as error:
        raise EngineError(
            f"the worker {worker} did not answer within {timeout_s:g} s",
            hint="it serves one client at a time: another may be using it",
        ) from error
    except _Broken as error:
        raise EngineError(
            f"{worker} answers, but not as a worker of RPC protocol {wire.MAJOR}.{wire.MINOR}",
            hint="both ends need the same llama.cpp: run edgespec worker there",
        ) from error
    except OSError as error:
        raise EngineError(
            f"no worker can be reached at {worker} ({error.strerror or error})",
            hint=f"on that machine: edgespec worker --host 0.0.0.0 --port {worker.port}",
        ) from error


class _Broken(Exception):
    """The connection ended, or what came is no answer."""


def _ask(worker: Endpoint, connection: socket.socket) -> tuple[wire.Memory, ...]:
    hello = _asked(connection, wire.Command.HELLO, bytes(wire.CAPS_BYTES))
    version = wire.version_of(hello)
    if not wire.speaks(version):
        raise EngineError(
            f"the worker {worker} speaks RPC protocol {'.'.join(map(str, version))}, "
            f"this llama.cpp {wire.MAJOR}.{wire.MINOR}",
            hint="both ends need the same llama.cpp: install the same edgespec there",
        )
    count = int.from_bytes(_asked(connection, wire.Command.DEVICE_COUNT, b""), "little")
    return tuple(
        wire.memory_of(_asked(connection, wire.Command.GET_DEVICE_MEMORY, i.to_bytes(4, "little")))
        for i in range(count)
    )


def _asked(connection: socket.socket, command: wire.Command, request: bytes) -> bytes:
    expected = wire.answer_bytes(command, request)
    try:
        connection.sendall(wire.HEADER.pack(command, len(request)) + request)
        (size,) = wire.SIZE.unpack(_received(connection, wire.SIZE.size))
        if size != expected:
            raise _Broken
        return _received(connection, size)
    except (ConnectionResetError, BrokenPipeError) as error:
        raise _Broken from error


def _received(connection: socket.socket, n: int) -> bytes:
    parts = bytearray()
    while len(parts) < n:
        part = connection.recv(n - len(parts))
        if not part:
            raise _Broken
        parts += part
    return bytes(parts)
