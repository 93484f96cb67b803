"""One process at a time works on a model's files; the operating system frees a dead one's lock."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from edgespec import paths
from edgespec.errors import DownloadError
from edgespec.models.spec import ModelSpec
from edgespec.store.job import key_of
from edgespec.store.progress import Meter, Tell

_POLL_S = 0.1


@contextmanager
def locked(spec: ModelSpec, tell: Tell) -> Iterator[None]:
    """Hold the model's lock; tells "wait" while another process has it.

    Raises: `DownloadError` when the folder cannot be written.
    """
    meter = Meter(tell, spec.file, "wait", "another process", spec.file_bytes)
    lock = paths.models_dir() / ".locks" / f"{key_of(spec)}.lock"
    with ExitStack() as stack:
        try:
            stack.enter_context(held(lock, meter))
        except OSError as error:
            raise DownloadError(
                f"{paths.models_dir()} cannot be written: {error.strerror or error}",
                hint="let EDGESPEC_HOME name a folder of yours",
            ) from error
        yield


@contextmanager
def held(path: Path, meter: Meter) -> Iterator[None]:
    """Hold the lock at `path`; `meter` ticks while another process has it.

    Raises: `OSError` when the folder cannot be written.
    """
    # Imported late: only a pull or a removal locks.
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=_POLL_S, poll_interval=_POLL_S / 2)
            break
        except Timeout:
            meter.tick()
    try:
        yield
    finally:
        lock.release()
