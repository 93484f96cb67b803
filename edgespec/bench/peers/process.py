"""A peer's process: started, put to sleep, woken, ended; its last words when it dies."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Timer
from time import monotonic, sleep

import psutil

from edgespec.bench.engine import EngineFailed
from edgespec.bench.memory import high_water_bytes
from edgespec.bench.peers.warden import Warden

_END_S = 5.0
_POLL_S = 0.05


class PeerProcess:
    """One child. Its talk goes to a file, so that no full pipe ever stops it."""

    def __init__(self, name: str, command: Sequence[str], *, is_piped: bool = False) -> None:
        """Start `command`; with pipes for stdin and stdout if asked. Raises: `EngineFailed`."""
        self.name = name
        self._log = tempfile.TemporaryFile(prefix="edgespec-peer-")  # noqa: SIM115
        pipe = subprocess.PIPE if is_piped else None
        # Like edgespec's own: threads that spin while they wait starve whoever is measured.
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        try:
            self.child = subprocess.Popen(
                list(command),
                stdin=pipe or subprocess.DEVNULL,
                stdout=pipe or self._log,
                stderr=self._log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the benchmark, which ends it in order
            )
        except OSError as error:
            self._log.close()
            raise EngineFailed(f"{name} could not be started: {error}") from error
        self._warden = Warden(self.child.pid)
        self._seen = psutil.Process(self.child.pid)
        self._peak_bytes: int | None = None

    def wait_for(self, is_ready: Callable[[], bool], timeout_s: float) -> None:
        """Wait until it serves. Raises: `EngineFailed` when it ends, or takes too long."""
        ends_s = monotonic() + timeout_s
        while not is_ready():
            self.check()
            if monotonic() > ends_s:
                raise EngineFailed(f"{self.name} was not ready after {timeout_s:.0f} s")
            sleep(_POLL_S)

    @contextmanager
    def within(self, timeout_s: float) -> Iterator[None]:
        """It must say what it is asked for in time, or is ended. Raises: `EngineFailed`."""
        is_late = Event()

        def end() -> None:
            is_late.set()
            self.child.kill()

        watch = Timer(timeout_s, end)
        watch.daemon = True
        watch.start()
        try:
            yield
        except EngineFailed as failure:
            if not is_late.is_set():
                raise
            raise EngineFailed(
                f"{self.name} said nothing more for {timeout_s:g} s and was ended"
            ) from failure
        finally:
            watch.cancel()

    def check(self) -> None:
        """Raises: `EngineFailed` when it has ended, with why."""
        code = self.child.poll()
        if code is not None:
            raise EngineFailed(f"{self.name} {_ending(code)}{self._last_words()}")

    def sleep(self) -> None:
        """Stop it where it is: it can use no processor."""
        self.check()
        self._seen.suspend()

    def wake(self) -> None:
        """Let it go on."""
        self.check()
        self._seen.resume()

    @property
    def log(self) -> str:
        """What it has said so far."""
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")

    @property
    def peak_bytes(self) -> int | None:
        """Most resident memory it had."""
        if self.child.poll() is None:
            self._peak_bytes = _peak_bytes(self._seen)
        return self._peak_bytes

    def close(self) -> None:
        """End it; idempotent."""
        if self._log.closed:
            return
        _ = self.peak_bytes
        if self.child.poll() is None:
            self._seen.resume()
            self.child.terminate()
            try:
                self.child.wait(_END_S)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self._warden.dismiss()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                pipe.close()
        self._log.close()

    def _last_words(self) -> str:
        lines = [line.strip() for line in self.log.splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower()] or lines
        return f": {telling[-1][:200]}" if telling else ""


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _peak_bytes(process: psutil.Process) -> int:
    told_bytes = high_water_bytes(process.pid)
    if told_bytes is not None:
        return told_bytes
    memory = process.memory_info()
    return int(getattr(memory, "peak_wset", memory.rss))
