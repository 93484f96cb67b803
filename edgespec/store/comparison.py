"""Compares catalogue entries with what the hub offers now; fetches nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from edgespec.errors import DownloadError
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store.hub_offer import Offer, ask
from edgespec.store.job import Job, Patience, SourceFailed, disk_free, folder_of
from edgespec.store.progress import Tell, ignore

Verdict = Literal["same", "open", "differs", "gone"]
"""open: what is pinned agrees, but not everything is pinned."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One entry beside the hub's answer."""

    id: str
    verdict: Verdict
    said: tuple[str, ...] = ()
    """What is not as the catalogue says, or a line of models.toml for what it does not say."""


def compare(
    specs: Iterable[ModelSpec], tell: Tell = ignore, *, patience: Patience = Patience()
) -> Iterator[Compared]:
    """Each entry that has a hub source, one question each.

    Raises: `DownloadError` where no hub answers.
    """
    for spec in specs:
        for source in spec.sources:
            if isinstance(source, HubSource):
                yield _compared(spec, source, Job(spec, folder_of(spec), tell, disk_free, patience))


def _compared(spec: ModelSpec, source: HubSource, job: Job) -> Compared:
    try:
        offer = ask(source, job, job.meter("wait", str(source), None))
    except SourceFailed as failure:
        if failure.is_unreachable:
            raise DownloadError(
                f"the hub cannot be asked: {failure.reason}",
                hint=failure.hint or "check the connection, HF_ENDPOINT and the proxy's variables",
            ) from failure
        return Compared(spec.id, "gone", (failure.reason,))
    if wrong := tuple(_wrong(spec, offer)):
        return Compared(spec.id, "differs", wrong)
    missing = tuple(_open(spec, source, offer))
    return Compared(spec.id, "open" if missing else "same", missing)


def _wrong(spec: ModelSpec, offer: Offer) -> Iterator[str]:
    if spec.size_bytes and offer.size_bytes and spec.size_bytes != offer.size_bytes:
        yield f"the hub has {offer.size_bytes:,} bytes, the catalogue {spec.size_bytes:,}"
    if spec.about_bytes and offer.size_bytes and not spec.size_bytes:
        error = spec.about_bytes / offer.size_bytes - 1
        if abs(error) > 0.02:
            yield f"the hub has {offer.size_bytes:,} bytes, about_bytes is off by {error:+.1%}"
    if spec.sha256 and offer.sha256 not in (None, spec.sha256):
        yield f"the hub has sha256 {offer.sha256}, the catalogue {spec.sha256}"


def _open(spec: ModelSpec, source: HubSource, offer: Offer) -> Iterator[str]:
    if not spec.size_bytes and offer.size_bytes:
        yield f"size_bytes = {offer.size_bytes:_}"
    if not spec.sha256 and offer.sha256:
        yield f'sha256 = "{offer.sha256}"'
    if source.revision != offer.commit:
        yield f'revision = "{offer.commit}"'
