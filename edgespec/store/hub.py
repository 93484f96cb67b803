"""Gets a file from the Hugging Face hub into its own cache, which other programs share.

The hub's client finds the file, authenticates and keeps the cache's layout. What it does not do is
done here: go on where a killed process stopped, hash while writing, say that nothing comes, and
check what came against the pin (huggingface_hub #4196, #4452).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgespec import paths
from edgespec.models.spec import HubSource
from edgespec.store.disk import PART, leftovers, repo_folder
from edgespec.store.hub_errors import disk_failure, explained
from edgespec.store.hub_offer import Offer, ask
from edgespec.store.hub_stream import Stream
from edgespec.store.job import Job, SourceFailed, key_of
from edgespec.store.lock import held
from edgespec.store.part import PartFile
from edgespec.store.pins import is_pinned, pin, remember
from edgespec.store.progress import Meter
from edgespec.store.pump import Lost, pumped


def fetch(source: HubSource, job: Job) -> Path:
    """The verified file in the hub's cache. Raises: `SourceFailed`, quickly when unreachable."""
    meter = job.meter("download", str(source), job.spec.file_bytes)
    offer = ask(source, job, meter)
    _check_offer(offer, job)
    blob = repo_folder(source) / "blobs" / offer.etag
    sha256 = None
    try:
        if not blob.exists():
            sha256 = _fetched(_Place(source, offer, blob), job)
        meter.at(blob.stat().st_size)  # it goes on telling while the client links the file
        path = _linked(source, offer, meter)
    except OSError as error:
        raise disk_failure(error, blob.parent, job) from error
    if sha256 is not None:
        remember(job.spec, path, sha256)
        if job.spec.sha256 is None:
            pin(job.spec, offer.commit, path.stat().st_size, sha256)
            meter.say(f"nobody had pinned this file: from now on it is the one of sha256 {sha256}")
    if not is_pinned(job.spec, path, job.tell):
        raise SourceFailed(
            f"the copy in {path} does not have the pinned sha256",
            hint=f"if no other program needs it, delete {path} and run it again",
        )
    return path


def _check_offer(offer: Offer, job: Job) -> None:
    """Raises: `SourceFailed` for a file that cannot be the pinned one, before it is fetched."""
    spec = job.spec
    if spec.size_bytes is not None and offer.size_bytes not in (None, spec.size_bytes):
        raise SourceFailed(
            f"it now offers {offer.size_bytes:,} bytes under that name instead of the pinned "
            f"{spec.size_bytes:,}",
            hint=_doubt("size_bytes", job),
        )
    if spec.sha256 is not None and offer.sha256 not in (None, spec.sha256):
        raise SourceFailed(
            f"it now offers a file of sha256 {offer.etag[:12]}… under that name instead of the "
            f"pinned {spec.sha256[:12]}…",
            hint=_doubt("sha256", job),
        )


def _doubt(key: str, job: Job) -> str:
    """What to do about a pin that does not fit."""
    id = job.spec.id
    if key in job.spec.unverified:
        return (
            f"this {key} rests on one public source and may be wrong: `edgespec models check {id} "
            "--online` shows the hub's, for your own models.toml"
        )
    return f"the file was replaced there: `edgespec models check {id} --online` shows by what"


@dataclass(frozen=True, slots=True)
class _Place:
    """What is fetched, and where to."""

    source: HubSource
    offer: Offer
    blob: Path


def _fetched(place: _Place, job: Job) -> str | None:
    """Put the blob where it belongs. Gives its sha256, or None when another process put it."""
    lock = paths.hub_cache() / ".locks" / repo_folder(place.source).name
    waiting = job.meter("wait", "another process", place.offer.size_bytes)
    # The lock of the hub's own client: it and we never fetch the same file at the same time.
    with held(lock / f"{place.offer.etag}.lock", waiting):
        if place.blob.exists():
            return None
        place.blob.parent.mkdir(parents=True, exist_ok=True)
        name = f"{place.offer.etag}.{PART.format(key_of(job.spec))}"
        _clear_others(name, job)
        checking = job.meter("verify", "what an earlier pull left", place.offer.size_bytes)
        with PartFile(place.blob.with_name(name), checking) as part:
            return _completed(part, place, job)


def _completed(part: PartFile, place: _Place, job: Job) -> str:
    size_bytes = place.offer.size_bytes
    needed = (size_bytes or job.spec.file_bytes or 0) - part.done_bytes
    job.need_space(max(0, needed), place.blob.parent, "(the file)")
    meter = job.meter("download", str(place.source), size_bytes or job.spec.file_bytes)
    stream = Stream(place.source, place.offer, job, meter)
    is_patched = stream.fill(part)
    if is_patched and not _is_right(part, place, job):
        meter.say("what was kept of an earlier try does not fit: fetching all of it again")
        part.restart()
        stream.fill(part)
    if not _is_right(part, place, job):
        came = f"{part.done_bytes:,} bytes of sha256 {part.sha256[:12]}…"
        part.path.unlink()
        raise SourceFailed(f"what came ({came}) does not have the pinned sha256, so it was removed")
    sha256 = part.sha256
    part.move_to(place.blob)
    return sha256


def _is_right(part: PartFile, place: _Place, job: Job) -> bool:
    """By the pin; without one by what the hub says the hash is; without that by the size."""
    wanted = job.spec.sha256 or place.offer.sha256
    has_size = place.offer.size_bytes in (None, part.done_bytes)
    return has_size and wanted in (None, part.sha256)


def _clear_others(name: str, job: Job) -> None:
    """Parts of what the repository held under this name before: nothing will complete them."""
    for left in leftovers(job.spec):
        if left.name != name:
            left.unlink(missing_ok=True)


def _linked(source: HubSource, offer: Offer, meter: Meter) -> Path:
    """The name under which programs find the blob; the client knows the layout, and Windows."""
    from huggingface_hub import hf_hub_download

    def link() -> Iterator[str]:
        yield hf_hub_download(
            source.repo,
            source.file,
            revision=offer.commit,
            cache_dir=paths.hub_cache(),
            endpoint=offer.endpoint,
            library_name="edgespec",
        )

    try:
        path = Path(next(pumped(link, meter.tick)))
    except Lost as lost:
        raise explained(lost.cause, source, offer.endpoint) from lost.cause
    if source.revision != offer.commit:
        ref = repo_folder(source) / "refs" / source.revision
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(offer.commit, encoding="utf-8")
    return path
