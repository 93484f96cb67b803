"""Gets a file from the Hugging Face hub into its own cache, which other programs share."""

import os
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from edgespec import paths
from edgespec.models.spec import HubSource
from edgespec.store.disk import places
from edgespec.store.hub_errors import explained, refusals
from edgespec.store.job import Job, SourceFailed
from edgespec.store.pins import is_pinned
from edgespec.store.progress import Meter

_ANSWER_S = 5.0
_POLL_S = 0.1


def is_offline() -> bool:
    """Whether the environment forbids asking the network, in the hub's own way."""
    return os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in ("1", "ON", "YES", "TRUE")


def fetch(source: HubSource, job: Job) -> Path:
    """The verified file in the hub's cache. Raises: `SourceFailed`, quickly when unreachable."""
    # 0.3 s of CPU time, and its settings are read at import. Its Xet transfer reports to native
    # threads, where an exception cannot cancel.
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
    meter = job.meter("download", str(source), job.spec.planning_bytes)
    before = {path for path in places(job.spec) if path.exists()}
    try:
        url = hf_hub_url(source.repo, source.file, revision=source.revision, endpoint=endpoint)
        found = _answer(lambda: get_hf_file_metadata(url, timeout=_ANSWER_S), meter)
        _check_offer(found.size, job)
        path = Path(
            hf_hub_download(
                source.repo,
                source.file,
                revision=source.revision,
                cache_dir=paths.hub_cache(),
                endpoint=endpoint,
                library_name="edgespec",
                tqdm_class=_bar(meter),
            )
        )
    except refusals() as error:
        raise explained(error, source, endpoint) from error
    if not is_pinned(job.spec, path, job.tell):
        _refuse(path, is_new=path not in before)
    return path


def _check_offer(size_bytes: int | None, job: Job) -> None:
    pinned = job.spec.size_bytes
    if size_bytes is not None and pinned is not None and size_bytes != pinned:
        raise SourceFailed(
            f"it now offers {size_bytes:,} bytes under that name instead of the pinned {pinned:,}"
        )
    job.need_space(size_bytes or job.spec.planning_bytes or 0, paths.hub_cache(), "(the file)")


def _refuse(path: Path, *, is_new: bool) -> None:
    if is_new:
        path.resolve().unlink()
        path.unlink(missing_ok=True)
        raise SourceFailed("what came does not have the pinned sha256, so it was removed")
    raise SourceFailed(
        f"the copy in {path} does not have the pinned sha256",
        hint=f"if no other program needs it, delete {path} and run it again",
    )


def _answer(ask: Callable[[], Any], meter: Meter) -> Any:
    """What `ask` gives, or a timeout: a name server that is silent has no timeout of its own."""
    answers: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((ask(), None))
        except Exception as error:
            answers.put((None, error))

    threading.Thread(target=run, name="edgespec-hub", daemon=True).start()
    end_s = time.monotonic() + 2 * _ANSWER_S
    while time.monotonic() < end_s:
        meter.at(0)
        try:
            answer, error = answers.get(timeout=_POLL_S)
        except queue.Empty:
            continue
        if error is not None:
            raise error
        return answer
    raise TimeoutError(f"no answer within {2 * _ANSWER_S:.0f} s")


def _bar(meter: Meter) -> type[Any]:
    """What the hub takes for a progress bar: draws nothing, feeds `meter`."""

    class Bar:
        def __init__(self, *, initial: int = 0, **_: Any) -> None:
            self._done_bytes = initial

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            return

        def update(self, n: float | None = 1) -> None:
            self._done_bytes += int(n or 0)
            meter.at(self._done_bytes)

    return Bar
