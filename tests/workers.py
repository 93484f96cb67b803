"""Workers on loopback, for tests of whole loads; they need llama.cpp's RPC backend."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from edgespec.engine.rpc import client
from edgespec.engine.rpc.endpoint import Endpoint
from edgespec.engine.rpc.worker import Lent, Worker
from edgespec.errors import EngineError

MIB = 2**20
Start = Callable[..., Worker]


def has_rpc() -> bool:
    """Whether the installed llama.cpp was built with workers."""
    with suppress(EngineError):
        client.check_build()
        return True
    return False


needs_rpc = pytest.mark.skipif(
    not has_rpc(), reason="this llama.cpp was built without -DGGML_RPC=on"
)


@contextmanager
def starting() -> Iterator[Start]:
    """Starts workers of one CPU thread; all are closed at the end, and say nothing more."""
    started: list[Worker] = []
    serving: list[threading.Thread] = []

    def start(limit_bytes: int = 64 * MIB, port: int = 0) -> Worker:
        started.append(Worker(Endpoint("127.0.0.1", port), Lent(("CPU",), limit_bytes, 1)))
        serving.append(threading.Thread(target=started[-1].serve, args=(print,), daemon=True))
        serving[-1].start()
        return started[-1]

    try:
        yield start
    finally:
        for one in started:
            one.close()
        for thread in serving:
            thread.join(30)
            assert not thread.is_alive(), "a worker goes on"
