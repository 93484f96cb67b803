"""Workers of the tests, closed after them."""

from collections.abc import Callable, Iterator

import pytest

from tests.engine.rpc.fake_worker import FakeWorker, Says, truthful


@pytest.fixture
def fake_worker() -> Iterator[Callable[..., FakeWorker]]:
    """Starts workers that are none."""
    started: list[FakeWorker] = []

    def start(says: Says = truthful) -> FakeWorker:
        started.append(FakeWorker(says))
        return started[-1]

    yield start
    for worker in started:
        worker.die()
