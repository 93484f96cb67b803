"""A worker: lends this machine's devices to another one, through llama.cpp's own RPC server.

Clients talk to a carrier here, which keeps to the memory that is lent; the server itself is a
child on loopback, started again when it dies. One client at a time, as llama.cpp's server has it.
"""

import errno
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from edgespec.engine.children import environment
from edgespec.engine.rpc import client
from edgespec.engine.rpc.allowance import Allowance
from edgespec.engine.rpc.carrier import Carrier
from edgespec.engine.rpc.endpoint import Endpoint
from edgespec.engine.rpc.relay import notice_silence
from edgespec.errors import EngineError, UsageError
from edgespec.sizes import gibibytes

_log = logging.getLogger(__name__)

_START_S: Final = 30.0
_LOOK_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Lent:
    """What a worker lends."""

    devices: tuple[str, ...]
    limit_bytes: int
    """Of memory, over all devices."""
    n_threads: int
    cache_dir: Path | None = None
    """Keeps weights that came once, so that the next load need not send them."""


class Worker:
    """Listens from the start; `serve` answers; `close` ends both. One thread serves."""

    def __init__(self, endpoint: Endpoint, lent: Lent) -> None:
        """Take the port and start the server. Raises: `UsageError`, `EngineError`."""
        client.check_build()
        self.lent = lent
        self.is_closed = False
        self._carrier: Carrier | None = None
        self._listener = _listening(endpoint)
        self.endpoint = Endpoint(endpoint.host, self._listener.getsockname()[1])
        try:
            self._server = _Server(lent)
        except BaseException:
            self._listener.close()
            raise

    def serve(self, tell: Callable[[str], None]) -> None:
        """Serve clients until `close`; `tell` hears who came, and what went wrong."""
        while True:
            try:
                guest, address = self._listener.accept()
            except OSError:  # closed
                return
            if self.is_closed:
                guest.close()
                return
            self._serve_one(guest, f"{address[0]}:{address[1]}", tell)

    def close(self) -> None:
        """Hang up, stop listening, end the child; idempotent, any thread."""
        self.is_closed = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self._listener.close()
        self._end()

    def _end(self) -> None:
        carrier = self._carrier  # the serving thread may forget it meanwhile
        if carrier is not None:
            carrier.hang_up()
        self._server.close()

    def _end_if_closed(self) -> None:
        """End what `close` could not see, because it was made at the same time."""
        if self.is_closed:
            self._end()

    def _serve_one(self, guest: socket.socket, name: str, tell: Callable[[str], None]) -> None:
        try:
            if not self._server.is_alive:
                tell("llama.cpp's RPC server has died: it is started again")
                self._server.close()
                self._server = _Server(self.lent)
            server = self._server.connected()
        except EngineError as error:
            if not self.is_closed:
                tell(error.message)
            guest.close()
            return
        finally:
            self._end_if_closed()
        notice_silence(guest)
        allowance = Allowance(self.lent.limit_bytes)
        self._carrier = Carrier(guest, server, lost=self._lose, allowance=allowance)
        self._end_if_closed()
        began_s = time.monotonic()
        self._carrier.run()
        self._carrier = None
        if allowance.peak_bytes:  # who only asks is not worth a line
            took = f"{gibibytes(allowance.peak_bytes)} for {time.monotonic() - began_s:,.0f} s"
            tell(f"{name} had {took}")

    def _lose(self, why: str) -> None:
        """The server died under a client, who is told by hanging up."""
        _log.warning("llama.cpp's RPC server is lost: %s", why)
        if self._carrier is not None:
            self._carrier.hang_up()


class _Server:
    """The child, and the port on loopback where it listens."""

    def __init__(self, lent: Lent) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port: int = probe.getsockname()[1]
        command = (sys.executable, "-P", "-m", "edgespec.engine.rpc.server")
        arguments = (str(self._port), str(lent.n_threads), str(lent.cache_dir or ""))
        self._child = subprocess.Popen(
            (*command, *arguments, *lent.devices),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
            start_new_session=True,  # Ctrl-C is for the parent
        )
        self._said = ""
        threading.Thread(target=self._listen, daemon=True).start()
        self.connected(timeout_s=_START_S).close()

    @property
    def is_alive(self) -> bool:
        """The child runs."""
        return self._child.poll() is None

    def connected(self, timeout_s: float = 5.0) -> socket.socket:
        """A connection to the server. Raises: `EngineError` when it has ended, or stays silent."""
        end_s = time.monotonic() + timeout_s
        while self.is_alive and time.monotonic() < end_s:
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", self._port), timeout_s)
            time.sleep(_LOOK_S)
        self.close()
        raise EngineError(
            f"llama.cpp's RPC server does not start: {self._said or 'it says nothing'}",
            hint="edgespec doctor shows the llama.cpp build that is in use",
        )

    def close(self) -> None:
        """End the child; idempotent."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stderr):
            if pipe is not None:
                pipe.close()

    def _listen(self) -> None:
        """Log what the child says; the last line is the reason if it ends."""
        assert self._child.stderr is not None
        with suppress(ValueError, OSError):  # closed while it is read
            for line in self._child.stderr:
                self._said = line.decode("utf-8", "replace").strip() or self._said
                _log.info("%s", self._said)


def _listening(endpoint: Endpoint) -> socket.socket:
    family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
    try:
        return socket.create_server(endpoint.address, family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {endpoint.port} is in use already, perhaps by another worker",
                hint=f"edgespec worker --port {endpoint.port + 1}",
            ) from error
        raise UsageError(
            f"{endpoint} cannot be listened at: {error.strerror or error}",
            hint="--host 0.0.0.0 listens on every network of this machine",
        ) from error
