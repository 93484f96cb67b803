"""One engine thread per loaded model: it owns both contexts, requests run one after the other."""

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

_log = logging.getLogger(__name__)


class Worker:
    """Runs jobs in the order they came; any thread may submit."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._n_waiting = 0
        self._lock = threading.Lock()
        self._is_closed = False
        # A daemon: a program that forgets to close its model still ends.
        self._thread = threading.Thread(target=self._run, name=f"edgespec {name}", daemon=True)
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        """A job runs or waits."""
        with self._lock:
            return self._n_waiting > 0

    def submit(self, job: Callable[[], None], *, only_if_idle: bool = False) -> bool:
        """Queue a job, which must not raise; False when it was not taken."""
        with self._lock:
            if self._is_closed or (only_if_idle and self._n_waiting):
                return False
            self._n_waiting += 1
            self._jobs.put(job)
            return True

    def close(self) -> None:
        """Run what was queued, then end the thread; idempotent."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException:  # a fault of ours: the thread must live, and the log must know
                _log.exception("a job of the engine thread failed")
            with self._lock:
                self._n_waiting -= 1
