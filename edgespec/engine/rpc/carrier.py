"""Carries one connection between llama.cpp's client and a worker, and outlives the worker.

llama.cpp ends the process when a worker is lost, so it never talks to one itself: it talks to a
carrier in this process, which reads along as far as it must to know which answer is owed. Once the
worker is gone, the loss is told first, and only then come false answers, until llama.cpp hangs up:
so whoever looks for a loss after reading a result never takes a false one for true.
"""

import selectors
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from edgespec.engine.rpc import wire
from edgespec.engine.rpc.allowance import Allowance

_CHUNK_BYTES: Final = 1 << 20
_LOOK_S: Final = 1.0
"""How often who waits for a worker asks whether anybody wants an end."""


class Gone(Exception):
    """The worker hung up, or it answers what cannot be understood; says which."""


class Carrier:
    """One connection of llama.cpp's; `run` carries until llama.cpp hangs up."""

    def __init__(
        self,
        client: socket.socket,
        worker: socket.socket | None,
        *,
        lost: Callable[[str], None],
        is_given_up: Callable[[], bool] = lambda: False,
        patience_s: float = 20.0,
        allowance: Allowance | None = None,
    ) -> None:
        """Own both sockets. `worker` None: it was lost before, and that was told.

        `lost(why)` is called once, before the first false answer. `is_given_up` is asked while the
        worker is silent: that long at a stretch, and it is lost. A long pass is silent too.
        """
        self._client = client
        self._worker = worker
        self._lost = lost
        self._is_given_up = is_given_up
        self._patience_s = patience_s
        self._allowance = allowance
        self._buffer = memoryview(bytearray(_CHUNK_BYTES))
        self._sent = self._at = self._end = 0
        """The buffer holds [sent, at): read and to be sent on; [at, end): not yet looked at."""
        for end in (client, worker):
            if end is not None:
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ready = selectors.DefaultSelector()
        self._ready.register(client, selectors.EVENT_READ)
        if worker is not None:
            worker.settimeout(_LOOK_S)
            self._ready.register(worker, selectors.EVENT_READ)

    def run(self) -> None:
        """Carry until llama.cpp hangs up; closes both sockets."""
        # The client may hang up in the middle of anything.
        with suppress(OSError), self._client, self._ready:
            while self._gather(wire.HEADER.size):
                self._carry(*wire.HEADER.unpack(self._buffer[self._at :][: wire.HEADER.size]))
        if self._worker is not None:
            self._worker.close()

    def hang_up(self) -> None:
        """End `run` from another thread."""
        with suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)

    def _carry(self, command: int, size: int) -> None:
        """Carry the request whose header lies in the buffer."""
        whole = wire.HEADER.size + size
        if wire.is_whole(command) and whole < _CHUNK_BYTES // 2:
            if self._gather(whole):
                self._ask(command, whole)
            return
        self._at += wire.HEADER.size
        while size and self._gather(1):
            part = min(size, self._end - self._at)
            self._at += part
            size -= part

    def _gather(self, n: int) -> bool:
        """Have n bytes to look at; what was read before goes on first. False at the end."""
        while self._end - self._at < n:
            self._flush()
            rest = self._end - self._at
            self._buffer[:rest] = bytes(self._buffer[self._at : self._end])
            self._sent = self._at = 0
            self._end = rest
            self._await_client()
            n_read = self._client.recv_into(self._buffer[self._end :])
            if n_read == 0:
                return False
            self._end += n_read
        return True

    def _await_client(self) -> None:
        """Return when the client speaks; a worker that speaks unasked has hung up."""
        if any(key.fileobj is self._worker for key, _ in self._ready.select()):
            self._lose("it hung up")

    def _ask(self, command: int, size: int) -> None:
        """Send the request in the buffer on, and bring its answer, if it has one."""
        start, self._at = self._at, self._at + size
        if command == wire.Command.HELLO:  # other transports would bypass us: neither end hears
            self._buffer[start + wire.HEADER.size : self._at] = bytes(size - wire.HEADER.size)
        request = bytes(self._buffer[start + wire.HEADER.size : self._at])
        refusal = self._allowance.refusal(command, request) if self._allowance else None
        if command == wire.Command.FREE_BUFFER:
            if self._allowance is not None:
                self._allowance.freed(request)
        elif refusal is None:
            self._flush()
            self._answer(command, request)
        else:
            self._at = start
            self._flush()
            self._sent = self._at = start + size
            self._client.sendall(wire.SIZE.pack(len(refusal)) + refusal)

    def _answer(self, command: int, request: bytes) -> None:
        """Give the client the worker's answer; what is missing of it is made up."""
        expected = wire.answer_bytes(command, request)
        n_given = 0
        try:
            for part in self._parts(command, request, expected):
                self._client.sendall(part)
                n_given += len(part)
        except Gone as gone:
            self._lose(str(gone))
        if n_given < wire.SIZE.size + expected:
            false = wire.SIZE.pack(expected) + wire.false_answer(command, expected)
            self._client.sendall(memoryview(false)[n_given:])

    def _parts(self, command: int, request: bytes, expected: int) -> Iterator[bytes]:
        """The worker's answer as it comes; nothing from a lost one. Raises: `Gone`."""
        if self._worker is None:
            return
        (size,) = wire.SIZE.unpack(self._received(wire.SIZE.size))
        if size != expected:
            raise Gone("it answered in a form that this llama.cpp does not know")
        if command == wire.Command.GET_TENSOR:
            yield wire.SIZE.pack(size)
            while size:
                part = self._received_some(min(size, _CHUNK_BYTES))
                yield part
                size -= len(part)
            return
        answer = self._received(size)
        if self._allowance is not None:
            answer = self._allowance.corrected(command, request, answer)
        yield wire.SIZE.pack(size) + wire.without_caps(command, answer)

    def _received(self, n: int) -> bytes:
        parts = bytearray()
        while len(parts) < n:
            parts += self._received_some(n - len(parts))
        return bytes(parts)

    def _received_some(self, most: int) -> bytes:
        """At least one byte of the worker's. Raises: `Gone`."""
        assert self._worker is not None, "a lost worker is not asked"
        silent_s = 0.0
        while True:
            try:
                part = self._worker.recv(most)
            except TimeoutError:
                silent_s = silent_s + _LOOK_S if self._is_given_up() else 0.0
                if silent_s > self._patience_s:
                    raise Gone("it did not answer any more") from None
                continue
            except OSError as error:
                raise Gone(f"the connection broke: {error.strerror or error}") from error
            if not part:
                raise Gone("it hung up")
            return part

    def _flush(self) -> None:
        """Send on what was read; a lost worker's is dropped."""
        silent_s = 0.0
        while self._worker is not None and self._sent < self._at:
            try:
                self._sent += self._worker.send(self._buffer[self._sent : self._at])
            except TimeoutError:
                silent_s = silent_s + _LOOK_S if self._is_given_up() else 0.0
                if silent_s > self._patience_s:
                    self._lose("it did not take any more")
            except OSError as error:
                self._lose(f"the connection broke: {error.strerror or error}")
        self._sent = self._at

    def _lose(self, why: str) -> None:
        if self._worker is None:
            return
        self._lost(why)
        self._ready.unregister(self._worker)
        self._worker.close()
        self._worker = None
