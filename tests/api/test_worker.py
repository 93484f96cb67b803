import logging
import threading
from functools import partial

import pytest

from edgespec.api.worker import Worker


def nothing() -> None:
    pass


def test_jobs_run_one_after_the_other_in_order() -> None:
    worker = Worker("test")
    ran: list[int] = []
    for i in range(20):
        worker.submit(partial(ran.append, i), nothing)

    worker.close()

    assert ran == list(range(20))


def test_thread_is_idle_when_what_follows_a_job_is_run() -> None:
    worker = Worker("test")
    was_busy: list[bool] = []
    is_over = threading.Event()

    def after() -> None:
        was_busy.append(worker.is_busy)
        is_over.set()

    worker.submit(lambda: was_busy.append(worker.is_busy), after)
    is_over.wait(10)
    worker.close()

    assert was_busy == [True, False]


def test_job_that_fails_is_logged_and_the_thread_lives(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker("test")
    ran: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    worker.submit(fail, lambda: ran.append("after"))
    worker.submit(lambda: ran.append("next"), nothing)
    worker.close()

    assert ran == ["after", "next"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_closed_worker_takes_nothing() -> None:
    worker = Worker("test")
    worker.close()
    worker.close()

    assert not worker.submit(nothing, nothing)
