"""Which models are on this machine: in edgespec's folder or in Hugging Face's shared cache.

Never asks the network and never writes into the shared cache, except to remove what it is told to.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from edgespec import paths
from edgespec.errors import ModelNotFound
from edgespec.models.folders import files_below, folders_in
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store.job import folder_of, key_of
from edgespec.store.lock import locked
from edgespec.store.pins import has_pinned_size, is_pinned, pinned
from edgespec.store.progress import Tell, ignore

PART = "edgespec-{}.part"
"""How names of unfinished downloads end; {} is the model's key."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A model that is here."""

    spec: ModelSpec
    path: Path
    size_bytes: int

    @property
    def is_shared(self) -> bool:
        """In Hugging Face's cache, where other programs see it too."""
        return paths.hub_cache() in self.path.parents


@dataclass(frozen=True, slots=True)
class Removed:
    """What `remove` deleted."""

    paths: tuple[Path, ...]
    freed_bytes: int


def installed(spec: ModelSpec, tell: Tell = ignore) -> Path | None:
    """The model's complete file, or None.

    The size is checked always, the hash the first time a file is seen (tells "verify" meanwhile).
    """
    if any(installed(shard, tell) is None for shard in spec.shards):
        return None
    spec = pinned(spec)
    found = (path for path in places(spec) if is_pinned(spec, path, tell))
    return next(found, None)


def list_installed(specs: Iterable[ModelSpec]) -> tuple[Installed, ...]:
    """Those of `specs` that are here, judged by size alone: fast, for listing."""
    found = []
    for spec in map(pinned, specs):
        files = [_of_pinned_size(one) for one in (spec, *spec.shards)]
        here = [path for path in files if path is not None]
        if len(here) == len(files):
            found.append(Installed(spec, here[0], sum(path.stat().st_size for path in here)))
    return tuple(found)


def _of_pinned_size(spec: ModelSpec) -> Path | None:
    return next((path for path in places(spec) if has_pinned_size(spec, path)), None)


def remove(spec: ModelSpec) -> Removed:
    """Delete every copy of the model's files and what unfinished pulls left.

    Raises: `ModelNotFound` when there is nothing to delete.
    """
    removed = [_removed(pinned(one)) for one in (spec, *spec.shards)]
    doomed = tuple(path for one in removed for path in one.paths)
    if not doomed:
        raise ModelNotFound(
            f"{spec.id} is not on this machine", hint="`edgespec models` shows which ones are"
        )
    return Removed(doomed, sum(one.freed_bytes for one in removed))


def _removed(spec: ModelSpec) -> Removed:
    own = folder_of(spec)
    with locked(spec, ignore):
        files = files_of(spec)
        freed_bytes = sum(_unlink(path) for path in files)
        doomed = [path for path in files if own not in path.parents]
        if os.path.isdir(own):
            doomed += [own]
            shutil.rmtree(own)
    return Removed(tuple(doomed), freed_bytes)


def files_of(spec: ModelSpec) -> list[Path]:
    """What `remove` deletes of one file's model, links and notes included."""
    own = folder_of(spec)
    copies = [path for path in places(spec) if os.path.isfile(path) and own not in path.parents]
    return [*copies, *leftovers(spec), *sorted(files_below(own))]


def places(spec: ModelSpec) -> Iterator[Path]:
    """Where the file may be, best place first; nothing is checked."""
    folder = paths.models_dir()
    yield folder_of(spec) / spec.file
    # Copied here by hand, for example onto a machine without a network.
    yield from {folder / spec.file: None, folder / f"{key_of(spec)}.gguf": None}
    for source in spec.sources:
        if isinstance(source, HubSource):
            yield from _in_hub_cache(source, any_revision=spec.sha256 is not None)


def leftovers(spec: ModelSpec) -> Iterator[Path]:
    """What unfinished pulls of the model left in the hub's cache."""
    for source in spec.sources:
        if isinstance(source, HubSource):
            with contextlib.suppress(OSError):  # a cache of somebody else's
                blobs = repo_folder(source) / "blobs"
                yield from blobs.glob(f"*.{PART.format(key_of(spec))}")


def repo_folder(source: HubSource) -> Path:
    """The repository's folder in the hub's cache."""
    return paths.hub_cache() / f"models--{source.repo.replace('/', '--')}"


def _in_hub_cache(source: HubSource, *, any_revision: bool) -> Iterator[Path]:
    repo = repo_folder(source)
    snapshots = repo / "snapshots"
    commit = source.revision
    with contextlib.suppress(OSError, ValueError):  # a commit has no ref of its own
        commit = (repo / "refs" / source.revision).read_text(encoding="utf-8").strip()
    wanted = snapshots / commit
    yield wanted / source.file
    # With a pinned hash the revision does not matter: llama.cpp leaves whatever "main" was.
    if any_revision:
        for other in folders_in(snapshots):
            if other != wanted:
                yield other / source.file


def blob_behind(link: Path) -> Path | None:
    """The blob of the shared cache that `link` is a name of; None for a link of somebody's own."""
    blob = link.resolve()
    snapshots = blob.parent.parent / "snapshots"
    is_name = snapshots in link.parent.resolve().parents
    return blob if blob.parent.name == "blobs" and is_name else None


def names_of(blob: Path) -> list[Path]:
    """All links of the shared cache to a blob."""
    snapshots = blob.parent.parent / "snapshots"
    return [link for link in files_below(snapshots) if link.resolve() == blob]


def _unlink(path: Path) -> int:
    """Delete a file, and the blob behind a link of the shared cache once nothing else links to it.

    Gives the bytes that this freed.
    """
    if path.is_symlink():
        blob = blob_behind(path)
        path.unlink()
        return 0 if blob is None or names_of(blob) else _unlink(blob)
    status = path.stat()
    path.unlink()
    return status.st_size if status.st_nlink == 1 else 0
