"""Asking a worker before llama.cpp does, which would end the process where this raises."""

import socket
from collections.abc import Callable

import pytest

from edgespec.engine.rpc import wire
from edgespec.engine.rpc.endpoint import Endpoint
from edgespec.engine.rpc.greeting import greet
from edgespec.errors import EngineError
from tests.engine.rpc.fake_worker import MIB, FakeWorker, greeting, nobody, truthful

Start = Callable[..., FakeWorker]


def test_worker_tells_the_memory_of_its_devices(fake_worker: Start) -> None:
    lent = greet(fake_worker().endpoint)

    assert lent == (wire.Memory(64 * MIB, 64 * MIB),)


def test_nobody_there_is_told_with_the_command_that_starts_a_worker() -> None:
    with (
        nobody() as endpoint,
        pytest.raises(EngineError, match=f"no worker can be reached at {endpoint}") as told,
    ):
        greet(endpoint)

    assert f"edgespec worker --host 0.0.0.0 --port {endpoint.port}" in told.value.hint


def test_name_without_an_address_is_told() -> None:
    with pytest.raises(EngineError, match=r"no worker can be reached at nowhere\.invalid:50052"):
        greet(Endpoint("nowhere.invalid", 50052))


@pytest.mark.parametrize(("major", "minor"), [(6, 0), (8, 0), (7, 1)])
def test_other_protocol_is_told_with_both_versions(
    fake_worker: Start, major: int, minor: int
) -> None:
    def says(command: int, body: bytes) -> bytes | None:
        is_hello = command == wire.Command.HELLO
        return greeting(major, minor) if is_hello else truthful(command, body)

    with pytest.raises(EngineError, match=rf"speaks RPC protocol {major}\.{minor}\.0") as told:
        greet(fake_worker(says).endpoint)

    assert f"this llama.cpp {wire.MAJOR}.{wire.MINOR}" in told.value.message


@pytest.mark.parametrize("said", [None, b"HTTP/1.1 400 Bad Request"])
def test_something_else_that_listens_is_told(fake_worker: Start, said: bytes | None) -> None:
    other = fake_worker(lambda command, body: said)

    with pytest.raises(EngineError, match="answers, but not as a worker of RPC protocol"):
        greet(other.endpoint)


def test_busy_worker_is_told() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(EngineError, match=r"did not answer within 0\.1 s") as told,
    ):
        greet(Endpoint("127.0.0.1", silent.getsockname()[1]), timeout_s=0.1)

    assert "another may be using it" in told.value.hint
