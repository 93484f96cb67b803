"""One engine thread per loaded model: it owns both contexts, requests run one after the other."""

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

from edgespec.errors import DoesNotFit

_log = logging.getLogger(__name__)

Job = Callable[[], None]


class Worker:
    """Runs jobs in the order they came; any thread may submit."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[tuple[Job, Job] | None] = SimpleQueue()
        self._n_waiting = 0
        self._lock = threading.Lock()
        self._is_closed = False
        # A daemon: a program that forgets to close its model still ends.
        self._thread = threading.Thread(target=self._run, name=f"edgespec {name}", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            raise DoesNotFit(
                f"the system gives no memory for the engine's thread ({error})",
                hint="a smaller context takes less: --ctx 2048",
            ) from error

    @property
    def is_busy(self) -> bool:
        """A job runs or waits."""
        with self._lock:
            return self._n_waiting > 0

    def submit(self, job: Job, after: Job, *, only_if_idle: bool = False) -> bool:
        """Queue a job and what follows it once the thread is free; False when not taken.

        Neither must raise.
        """
        with self._lock:
            if self._is_closed or (only_if_idle and self._n_waiting):
                return False
            self._n_waiting += 1
            self._jobs.put((job, after))
            return True

    def close(self) -> None:
        """Run what was queued, then end the thread; idempotent."""
        self._stop()
        self._thread.join()

    def end(self, last: Job) -> None:
        """Let the thread run `last` after what was queued and end; waits for nothing."""
        self.submit(last, lambda: None)
        self._stop()

    def _stop(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._jobs.put(None)

    def _run(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, after = item
            self._run_one(job)
            with self._lock:
                self._n_waiting -= 1
            # Whoever hears of the end may ask for the thread at once, and finds it idle.
            self._run_one(after)
            del item, job, after  # waiting must not keep a request and its model alive

    def _run_one(self, job: Job) -> None:
        try:
            job()
        except BaseException:  # a fault of ours: the thread must live, and the log must know
            _log.exception("a job of the engine thread failed")
