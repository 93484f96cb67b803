"""The stand-in of one worker here: llama.cpp connects to it, and it connects to the worker."""

import logging
import socket
import threading
import weakref
from contextlib import suppress
from typing import Final

from edgespec.engine.interrupt import Interrupt
from edgespec.engine.rpc.carrier import Carrier
from edgespec.engine.rpc.endpoint import Endpoint
from edgespec.errors import WorkerLost

_log = logging.getLogger(__name__)

_CONNECT_S: Final = 5.0
_HANGING_UP_S: Final = 1.0
_PATIENCE_S: Final = 10
"""How long a machine may be unreachable before it counts as lost."""


class Relay:
    """Listens on loopback for as long as the process lives: a registered device stays one.

    Lost once, lost for good: llama.cpp keeps what it is told of an endpoint, also what is false.
    The worker may come back behind another relay.
    """

    def __init__(self, worker: Endpoint) -> None:
        self.worker = worker
        self._why_lost = ""
        self._interrupts: weakref.WeakSet[Interrupt] = weakref.WeakSet()
        self._carrying = threading.Thread()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = Endpoint("127.0.0.1", self._listener.getsockname()[1])
        """Where llama.cpp finds the worker."""
        threading.Thread(target=self._listen, name=f"edgespec rpc {worker}", daemon=True).start()

    @property
    def is_used(self) -> bool:
        """llama.cpp holds a connection: a model lies there."""
        return self._carrying.is_alive()

    @property
    def is_lost(self) -> bool:
        """What is computed behind this relay is false from now on."""
        return bool(self._why_lost)

    def check(self) -> None:
        """Say so if the worker is lost: what was computed since may be false.

        Raises: `WorkerLost`.
        """
        if self._why_lost:
            raise WorkerLost(
                f"the worker {self.worker} is lost: {self._why_lost}",
                hint=f"start it again (edgespec worker --port {self.worker.port}), "
                "then load the model again",
            )

    def heed(self, interrupt: Interrupt) -> None:
        """Give a worker up that does not answer while this is set: a person wants an end."""
        self._interrupts.add(interrupt)

    def _listen(self) -> None:
        while True:
            client, _ = self._listener.accept()
            if self.is_used:
                self._carrying.join(_HANGING_UP_S)
            if self.is_used or self.is_lost:
                # llama.cpp keeps one connection: a second is a stranger's, who hears nothing true.
                ghost = Carrier(client, None, lost=lambda why: None)
                threading.Thread(target=ghost.run, daemon=True).start()
                continue
            self._carrying = threading.Thread(
                target=self._carry, args=(client,), name=f"edgespec rpc {self.worker}", daemon=True
            )
            self._carrying.start()

    def _carry(self, client: socket.socket) -> None:
        Carrier(client, self._connected(), lost=self._lose, is_given_up=self._is_given_up).run()

    def _connected(self) -> socket.socket | None:
        try:
            connection = socket.create_connection(self.worker.address, _CONNECT_S)
        except OSError as error:
            self._lose(f"it cannot be reached ({error.strerror or error})")
            return None
        notice_silence(connection)
        return connection

    def _lose(self, why: str) -> None:
        _log.info("the worker %s is lost: %s", self.worker, why)
        self._why_lost = why

    def _is_given_up(self) -> bool:
        return any(interrupt.is_set for interrupt in tuple(self._interrupts))


def notice_silence(connection: socket.socket) -> None:
    """Let the system find out that the other machine is gone, though it said nothing."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = (
        ("TCP_KEEPIDLE", 4),
        ("TCP_KEEPALIVE", 4),  # macOS's name for it
        ("TCP_KEEPINTVL", 2),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", _PATIENCE_S * 1000),
    )
    for name, value in options:
        if hasattr(socket, name):
            with suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
