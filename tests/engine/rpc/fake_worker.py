"""A worker in Python: speaks the protocol, computes nothing, can be told to fail."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from edgespec.engine.rpc import wire
from edgespec.engine.rpc.endpoint import Endpoint

MIB = 2**20
Says = Callable[[int, bytes], bytes | None]
"""The answer to a request; None hangs up."""


@contextmanager
def nobody() -> Iterator[Endpoint]:
    """Where nobody listens, nor can, for as long as this lasts."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield Endpoint("127.0.0.1", bound.getsockname()[1])


def exactly(connection: socket.socket, n: int) -> bytes:
    """n bytes, or fewer at the end of the connection."""
    parts = bytearray()
    while len(parts) < n and (part := connection.recv(n - len(parts))):
        parts += part
    return bytes(parts)


def request(command: int, body: bytes = b"") -> bytes:
    return wire.HEADER.pack(command, len(body)) + body


def answer(body: bytes) -> bytes:
    return wire.SIZE.pack(len(body)) + body


def greeting(major: int = wire.MAJOR, minor: int = wire.MINOR) -> bytes:
    return bytes((major, minor, 0, 0)) + bytes(range(wire.CAPS_BYTES))


def tensor_request(size_bytes: int) -> bytes:
    """A GET_TENSOR for so many bytes of some tensor."""
    return bytes(300) + wire.SIZE.pack(size_bytes)


def truthful(command: int, body: bytes) -> bytes | None:
    """What a worker of one device with 64 MiB says; tensors are full of ones."""
    match command:
        case wire.Command.HELLO:
            return greeting()
        case wire.Command.DEVICE_COUNT:
            return (1).to_bytes(4, "little")
        case wire.Command.GET_DEVICE_MEMORY:
            return wire.Memory(64 * MIB, 64 * MIB).packed()
        case wire.Command.ALLOC_BUFFER:
            return wire.allocation(4096, wire.wanted_bytes(body))
        case wire.Command.GET_TENSOR:
            return b"\x01" * wire.answer_bytes(command, body)
        case _:
            return bytes(wire.answer_bytes(command, body))


class FakeWorker:
    """Serves one connection after the other until it is closed."""

    def __init__(self, says: Says = truthful) -> None:
        self.requests: list[tuple[int, bytes]] = []
        self._says = says
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = Endpoint("127.0.0.1", self._listener.getsockname()[1])
        self._connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                with connection, suppress(OSError):
                    self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        while header := exactly(connection, wire.HEADER.size):
            command, size = wire.HEADER.unpack(header)
            body = exactly(connection, size)
            self.requests.append((command, body))
            if command in (wire.Command.FREE_BUFFER, wire.Command.SET_TENSOR):
                continue
            said = self._says(command, body)
            if said is None:
                return
            connection.sendall(answer(said))

    def die(self) -> None:
        """Hang up on everybody and listen no more."""
        for end in (self._listener, *self._connections):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._thread.join()
