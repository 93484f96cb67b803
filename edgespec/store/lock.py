"""One process at a time works on a model's files; the operating system frees a dead one's lock."""

from collections.abc import Iterator
from contextlib import contextmanager

from edgespec import paths
from edgespec.errors import DownloadError
from edgespec.models.spec import ModelSpec
from edgespec.store.progress import Meter, Tell

_POLL_S = 0.1


@contextmanager
def locked(spec: ModelSpec, tell: Tell) -> Iterator[None]:
    """Hold the model's lock; tells "wait" while another process has it.

    Raises: `DownloadError` when the folder cannot be written.
    """
    # Imported late: only a pull or a removal locks.
    from filelock import FileLock, Timeout

    folder = paths.models_dir() / ".locks"
    meter = Meter(tell, spec.file, "wait", "another process", spec.planning_bytes)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{spec.id}.lock")
        while True:
            try:
                lock.acquire(timeout=_POLL_S, poll_interval=_POLL_S / 2)
                break
            except Timeout:
                meter.at(0)
    except OSError as error:
        raise DownloadError(
            f"{paths.models_dir()} cannot be written: {error.strerror or error}",
            hint="let EDGESPEC_HOME name a folder of yours",
        ) from error
    try:
        yield
    finally:
        lock.release()
