"""llama.cpp's own server and client through ours, where the build has them: layers on workers.

A llama.cpp built without -DGGML_RPC=on has neither; tests/engine/rpc's other files need none.
"""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgespec.engine.devices import devices
from edgespec.engine.model import LoadOptions, Model
from edgespec.engine.rpc import client
from edgespec.engine.rpc.endpoint import Endpoint
from edgespec.engine.rpc.greeting import greet
from edgespec.engine.rpc.worker import Lent, Worker
from edgespec.errors import DoesNotFit, EngineError, UsageError, WorkerLost
from tests.engine.conftest import SMALL, WRITERS
from tests.workers import MIB, Start, has_rpc, needs_rpc, starting

TOKENS = np.arange(3, 43, dtype=np.int32)
_LOOKS = 1000


@pytest.fixture
def worker() -> Iterator[Start]:
    with starting() as start:
        yield start


@pytest.fixture(scope="module")
def three() -> Iterator[tuple[str, ...]]:
    """Devices of three workers that lend different amounts."""
    with starting() as start:
        yield names_of(*(start((64 + 32 * i) * MIB) for i in range(3)))


def names_of(*workers: Worker) -> tuple[str, ...]:
    return tuple(name for one in workers for name in client.connect(one.endpoint))


def rows(path: Path, options: LoadOptions) -> list[list[float]]:
    """The last four rows of logits after `TOKENS`."""
    model = Model(path, options)
    try:
        session = model.new_session(SMALL)
        try:
            logits = session.forward(TOKENS, n_logits=4)
            return [logits[i].tolist() for i in range(4)]
        finally:
            session.close()
    finally:
        model.close()


@needs_rpc
@pytest.mark.parametrize("architecture", ["llama", "gemma3", "mamba", "lfm2"])
@pytest.mark.parametrize("split", [(1.0,), (0.5, 0.5), (0.2, 0.3, 0.5)])
def test_layers_on_workers_compute_what_they_compute_here(
    tmp_path: Path, three: tuple[str, ...], architecture: str, split: tuple[float, ...]
) -> None:
    path = WRITERS[architecture](tmp_path / "m.gguf")

    there = rows(path, LoadOptions(devices=three[: len(split)], tensor_split=split))

    assert there == rows(path, LoadOptions(devices=()))


@needs_rpc
def test_worker_reports_the_memory_that_it_lends(worker: Start) -> None:
    lending = worker(40 * MIB)
    names = names_of(lending)

    found = {device.name: device for device in devices()}[names[0]]

    assert (found.free_bytes, found.total_bytes) == (40 * MIB, 40 * MIB)
    assert found.worker == str(lending.endpoint)
    assert found.kind == "GPU"


@needs_rpc
def test_more_than_a_worker_lends_does_not_fit(tmp_path: Path, worker: Start) -> None:
    path = WRITERS["llama"](tmp_path / "m.gguf")
    names = names_of(worker(100_000))

    with pytest.raises(DoesNotFit, match=r"m\.gguf"):
        rows(path, LoadOptions(devices=names))


@needs_rpc
def test_lost_worker_is_an_error_and_leaves_the_rest_usable(tmp_path: Path, worker: Start) -> None:
    path = WRITERS["llama"](tmp_path / "m.gguf")
    stays, goes = worker(), worker()
    model = Model(path, LoadOptions(devices=names_of(stays, goes), tensor_split=(0.5, 0.5)))
    session = model.new_session(SMALL)
    session.forward(TOKENS[:20], n_logits=1)

    goes.close()
    with pytest.raises(WorkerLost, match=f"the worker {goes.endpoint} is lost") as lost:
        session.forward(TOKENS, n_logits=4)
    session.close()
    model.close()
    alone = rows(path, LoadOptions(devices=names_of(stays)))

    assert f"edgespec worker --port {goes.endpoint.port}" in lost.value.hint
    assert alone == rows(path, LoadOptions(devices=()))


@needs_rpc
def test_lost_worker_may_come_back(tmp_path: Path, worker: Start) -> None:
    path = WRITERS["llama"](tmp_path / "m.gguf")
    first = worker()
    names = names_of(first)
    first.close()
    with pytest.raises(WorkerLost):
        rows(path, LoadOptions(devices=names))

    again = names_of(worker(port=first.endpoint.port))

    assert rows(path, LoadOptions(devices=again)) == rows(path, LoadOptions(devices=()))
    assert not {device.name for device in devices()}.intersection(names)


@needs_rpc
def test_model_in_ruins_does_not_spoil_the_next(tmp_path: Path, worker: Start) -> None:
    """The lost one is still open, and llama.cpp would go on with its dead connection."""
    path = WRITERS["llama"](tmp_path / "m.gguf")
    first = worker()
    model = Model(path, LoadOptions(devices=names_of(first)))
    first.close()
    again = worker(port=first.endpoint.port)
    for _ in range(_LOOKS):
        if model.relays[0].is_lost:
            break
        time.sleep(0.01)

    there = rows(path, LoadOptions(devices=names_of(again)))
    model.close()

    assert there == rows(path, LoadOptions(devices=()))


@needs_rpc
def test_server_that_dies_is_started_again(tmp_path: Path, worker: Start) -> None:
    """It ends its process on a request that it does not understand."""
    lending = worker()
    lending._server._child.kill()
    lending._server._child.wait()

    lent = greet(lending.endpoint)

    assert len(lent) == 1


@needs_rpc
def test_worker_that_is_closed_while_its_server_is_started_again_leaves_none() -> None:
    lending = Worker(Endpoint("127.0.0.1", 0), Lent(("CPU",), MIB, 1))
    lending._server._child.kill()
    lending._server._child.wait()
    told: list[str] = []

    def close(text: str) -> None:
        told.append(text)
        lending.close()

    socket.create_connection(lending.endpoint.address).close()

    lending.serve(close)

    assert len(told) == 1
    assert not lending._server.is_alive


@needs_rpc
def test_port_in_use_is_told(worker: Start) -> None:
    taken = worker().endpoint

    with pytest.raises(UsageError, match=f"port {taken.port} is in use already"):
        Worker(taken, Lent(("CPU",), MIB, 1))


@pytest.mark.skipif(has_rpc(), reason="this llama.cpp was built with -DGGML_RPC=on")
def test_build_without_workers_is_told_with_the_command_that_mends_it() -> None:
    with pytest.raises(EngineError, match="built without its RPC backend") as told:
        client.connect(Endpoint("127.0.0.1", 1))

    assert "CMAKE_ARGS=-DGGML_RPC=on" in told.value.hint
