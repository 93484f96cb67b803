"""What llama.cpp sees of a worker, in health and after its death."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from edgespec.engine.rpc import wire
from edgespec.engine.rpc.allowance import Allowance
from edgespec.engine.rpc.carrier import Carrier
from edgespec.engine.rpc.wire import Command
from tests.engine.rpc.fake_worker import (
    MIB,
    FakeWorker,
    answer,
    exactly,
    greeting,
    request,
    tensor_request,
)

Start = Callable[..., FakeWorker]
_ENOUGH_S = 10.0
_ALL_ANSWERED = [c for c in Command if wire.is_whole(c) and c != Command.FREE_BUFFER]


def body_of(command: int) -> bytes:
    """A request's body of the right shape."""
    if command == Command.GET_TENSOR:
        return tensor_request(1000)
    sizes: dict[int, int] = {Command.HELLO: wire.CAPS_BYTES, Command.ALLOC_BUFFER: 12}
    return bytes(sizes.get(command, 8))


@dataclass
class Client:
    """llama.cpp's end."""

    connection: socket.socket
    carrier: Carrier
    losses: list[str] = field(default_factory=list)

    def ask(self, command: int, body: bytes | None = None) -> bytes:
        body = body_of(command) if body is None else body
        self.connection.sendall(request(command, body))
        (size,) = wire.SIZE.unpack(exactly(self.connection, wire.SIZE.size))
        return exactly(self.connection, size)


@contextmanager
def client_of(worker: FakeWorker | None, allowance: Allowance | None = None) -> Iterator[Client]:
    """A client whose carrier runs until the block ends."""
    theirs, ours = _pair()
    upstream = socket.create_connection(worker.endpoint.address) if worker else None
    losses: list[str] = []
    carrier = Carrier(ours, upstream, lost=losses.append, allowance=allowance)
    thread = threading.Thread(target=carrier.run)
    thread.start()
    theirs.settimeout(_ENOUGH_S)
    with theirs:
        yield Client(theirs, carrier, losses)
    thread.join(_ENOUGH_S)
    assert not thread.is_alive()


def _pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.create_connection(listener.getsockname())
        ours, _ = listener.accept()
    return theirs, ours


def test_answers_come_as_the_worker_gives_them(fake_worker: Start) -> None:
    with client_of(fake_worker()) as client:
        tensor = client.ask(Command.GET_TENSOR, tensor_request(3 * MIB))

    assert tensor == b"\x01" * 3 * MIB
    assert client.losses == []


def test_requests_reach_the_worker_whole_and_in_order(fake_worker: Start) -> None:
    worker, weights = fake_worker(), bytes(range(256)) * 12_345

    with client_of(worker) as client:
        client.connection.sendall(request(Command.SET_TENSOR, weights) * 2)
        client.ask(Command.GET_ALIGNMENT, b"\x07\x00\x00\x00")

    assert worker.requests == [
        (Command.SET_TENSOR, weights),
        (Command.SET_TENSOR, weights),
        (Command.GET_ALIGNMENT, b"\x07\x00\x00\x00"),
    ]


def test_no_other_transport_is_agreed_on(fake_worker: Start) -> None:
    """Over another one the two ends would talk past us, and a loss would end the process."""
    worker = fake_worker()

    with client_of(worker) as client:
        told = client.ask(Command.HELLO, b"\xff" * wire.CAPS_BYTES)

    assert worker.requests == [(Command.HELLO, bytes(wire.CAPS_BYTES))]
    assert told == greeting()[:4] + bytes(wire.CAPS_BYTES)


@pytest.mark.parametrize("command", _ALL_ANSWERED)
def test_every_request_is_answered_after_a_death(fake_worker: Start, command: Command) -> None:
    with client_of(fake_worker(lambda command, body: None)) as client:
        said = client.ask(command)
        again = client.ask(command)

    assert len(said) == wire.answer_bytes(command, body_of(command))
    assert again == said
    assert client.losses == ["it hung up"]


def test_loss_is_told_before_the_first_false_byte(fake_worker: Start) -> None:
    told_by_then: list[int] = []

    with client_of(fake_worker(lambda command, body: None)) as client:
        client.connection.sendall(request(Command.GET_TENSOR, tensor_request(8)))
        client.connection.recv(1)
        told_by_then.append(len(client.losses))

    assert told_by_then == [1]


def test_answer_cut_short_by_death_is_filled_up(fake_worker: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs, ours = _pair()
        upstream = socket.create_connection(listener.getsockname())
        losses: list[str] = []
        thread = threading.Thread(target=Carrier(ours, upstream, lost=losses.append).run)
        thread.start()
        worker, _ = listener.accept()
        theirs.sendall(request(Command.GET_TENSOR, tensor_request(100)))
        exactly(worker, wire.HEADER.size + 308)
        worker.sendall(answer(b"\x01" * 100)[:60])
        worker.close()

        said = exactly(theirs, 108)

        theirs.close()
        thread.join(_ENOUGH_S)
    assert said == answer(b"\x01" * 52 + bytes(48))
    assert losses == ["it hung up"]


def test_death_is_noticed_while_nobody_asks(fake_worker: Start) -> None:
    worker = fake_worker()

    with client_of(worker) as client:
        client.ask(Command.GET_ALIGNMENT)
        worker.die()
        noticed = threading.Event()
        while not client.losses and not noticed.wait(0.01):
            pass
        after = client.ask(Command.DEVICE_COUNT, b"")

    assert client.losses == ["it hung up"]
    assert after == bytes(4)


def test_answer_of_another_size_counts_as_a_loss(fake_worker: Start) -> None:
    """llama.cpp would end the process."""
    with client_of(fake_worker(lambda command, body: b"odd")) as client:
        said = client.ask(Command.GET_MAX_SIZE)

    assert len(said) == 8
    assert client.losses == ["it answered in a form that this llama.cpp does not know"]


def test_nothing_is_had_from_a_lost_worker() -> None:
    with client_of(None) as client:
        buffer, _ = wire.allocated(client.ask(Command.ALLOC_BUFFER))
        memory = wire.memory_of(client.ask(Command.GET_DEVICE_MEMORY))
        client.connection.sendall(request(Command.SET_TENSOR, bytes(5 * MIB)))
        tensor = client.ask(Command.GET_TENSOR, tensor_request(64))

    assert buffer == 0
    assert memory == wire.Memory(0, 0)
    assert tensor == bytes(64)


def test_silent_worker_is_given_up_when_somebody_wants_an_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs, ours = _pair()
        upstream = socket.create_connection(listener.getsockname())
        losses: list[str] = []
        carrier = Carrier(
            ours, upstream, lost=losses.append, is_given_up=lambda: True, patience_s=0.0
        )
        thread = threading.Thread(target=carrier.run)
        thread.start()
        theirs.sendall(request(Command.GET_TENSOR, tensor_request(4)))

        said = exactly(theirs, 12)

        theirs.close()
        thread.join(_ENOUGH_S)
    assert said == answer(bytes(4))
    assert losses == ["it did not answer any more"]


def test_allowance_is_what_a_device_seems_to_have(fake_worker: Start) -> None:
    with client_of(fake_worker(), allowance=Allowance(10 * MIB)) as client:
        before = wire.memory_of(client.ask(Command.GET_DEVICE_MEMORY))
        client.ask(Command.ALLOC_BUFFER, bytes(4) + wire.SIZE.pack(4 * MIB))
        after = wire.memory_of(client.ask(Command.GET_DEVICE_MEMORY))

    assert before == wire.Memory(10 * MIB, 10 * MIB)
    assert after == wire.Memory(6 * MIB, 10 * MIB)


def test_allocation_beyond_the_allowance_is_refused_unasked(fake_worker: Start) -> None:
    worker = fake_worker()

    with client_of(worker, allowance=Allowance(10 * MIB)) as client:
        client.connection.sendall(request(Command.SET_TENSOR, b"before"))
        buffer, _ = wire.allocated(
            client.ask(Command.ALLOC_BUFFER, bytes(4) + wire.SIZE.pack(11 * MIB))
        )
        client.ask(Command.GET_ALIGNMENT)

    assert buffer == 0
    assert [command for command, _ in worker.requests] == [
        Command.SET_TENSOR,
        Command.GET_ALIGNMENT,
    ]


def test_what_is_given_back_may_be_had_again(fake_worker: Start) -> None:
    allowance = Allowance(10 * MIB)
    ten = bytes(4) + wire.SIZE.pack(10 * MIB)

    with client_of(fake_worker(), allowance=allowance) as client:
        first, _ = wire.allocated(client.ask(Command.ALLOC_BUFFER, ten))
        client.connection.sendall(request(Command.FREE_BUFFER, wire.SIZE.pack(first)))
        second, _ = wire.allocated(client.ask(Command.ALLOC_BUFFER, ten))

    assert first == second == 4096
    assert allowance.peak_bytes == 10 * MIB
