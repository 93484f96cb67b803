"""A worker's stand-in: one connection at a time, and a loss that is for good."""

import socket
import threading
from collections.abc import Callable

import pytest

from edgespec.engine.rpc import wire
from edgespec.engine.rpc.relay import Relay
from edgespec.engine.rpc.wire import Command
from edgespec.errors import WorkerLost
from tests.engine.rpc.fake_worker import MIB, FakeWorker, exactly, nobody, request

Start = Callable[..., FakeWorker]
_ENOUGH_S = 10.0


def ask(connection: socket.socket, command: Command, body: bytes) -> bytes:
    connection.sendall(request(command, body))
    (size,) = wire.SIZE.unpack(exactly(connection, wire.SIZE.size))
    return exactly(connection, size)


def memory(connection: socket.socket) -> wire.Memory:
    return wire.memory_of(ask(connection, Command.GET_DEVICE_MEMORY, bytes(4)))


def connected(relay: Relay) -> socket.socket:
    return socket.create_connection(relay.endpoint.address, _ENOUGH_S)


def test_relay_leads_to_its_worker(fake_worker: Start) -> None:
    relay = Relay(fake_worker().endpoint)

    with connected(relay) as connection:
        there = memory(connection)

    relay.check()
    assert there == wire.Memory(64 * MIB, 64 * MIB)


def test_second_connection_hears_nothing_true_and_changes_nothing(fake_worker: Start) -> None:
    relay = Relay(fake_worker().endpoint)

    with connected(relay) as first, connected(relay) as stranger:
        before = memory(first)
        strange = memory(stranger)
        after = memory(first)

    relay.check()
    assert before == after == wire.Memory(64 * MIB, 64 * MIB)
    assert strange == wire.Memory(0, 0)


def test_connection_may_follow_another(fake_worker: Start) -> None:
    relay = Relay(fake_worker().endpoint)

    with connected(relay) as first:
        before = memory(first)
    with connected(relay) as second:
        after = memory(second)

    relay.check()
    assert before == after


def test_lost_worker_stays_lost_though_it_comes_back(fake_worker: Start) -> None:
    """llama.cpp may have kept what was said in its name."""
    worker = fake_worker()
    relay = Relay(worker.endpoint)
    with connected(relay) as connection:
        memory(connection)
        worker.die()
        false = memory(connection)
    with socket.create_server(worker.endpoint.address), connected(relay) as connection:
        later = memory(connection)

    assert false == later == wire.Memory(0, 0)
    with pytest.raises(WorkerLost, match=f"the worker {worker.endpoint} is lost"):
        relay.check()


def test_worker_that_is_not_there_is_lost_at_the_first_connection() -> None:
    with nobody() as endpoint:
        relay = Relay(endpoint)

        with connected(relay) as connection:
            memory(connection)

    with pytest.raises(WorkerLost, match="it cannot be reached"):
        relay.check()


def test_relays_threads_do_not_keep_a_program_alive(fake_worker: Start) -> None:
    Relay(fake_worker().endpoint)

    alive = [thread for thread in threading.enumerate() if thread.name.startswith("edgespec rpc")]

    assert alive
    assert all(thread.daemon for thread in alive)
