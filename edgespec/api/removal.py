"""What deleting a model would free, and deleting it: only what nobody else refers to goes.

Ollama's and LM Studio's files are theirs; a blob of the Hugging Face cache goes with the last
revision that links to it; a hard-linked file loses this name and frees nothing.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from edgespec import paths
from edgespec.errors import ModelNotFound, UsageError
from edgespec.gguf.shards import shard_paths
from edgespec.models.lmstudio import lmstudio_folders
from edgespec.models.names import Resolved
from edgespec.models.ollama import ollama_folders
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store import remove
from edgespec.store.disk import blob_behind, files_of, names_of
from edgespec.store.pins import pinned


@dataclass(frozen=True, slots=True)
class Doomed:
    """One name that would go."""

    path: Path
    frees_bytes: int
    why: str
    """Why it frees less than its size; else empty."""


@dataclass(frozen=True, slots=True)
class Removal:
    """Everything that deleting a model would do."""

    spec: ModelSpec
    doomed: tuple[Doomed, ...]

    @property
    def freed_bytes(self) -> int:
        """Bytes of disk that come back."""
        return sum(one.frees_bytes for one in self.doomed)


def plan_removal(resolved: Resolved) -> Removal:
    """What would go.

    Raises: `ModelNotFound` when nothing is here; `UsageError` for the files of others.
    """
    spec = _spec_of(resolved)
    going = [path for one in (spec, *spec.shards) for path in files_of(pinned(one))]
    doomed = [_judged(path, going) for path in going]
    if not doomed:
        raise ModelNotFound(
            f"{spec.id} is not on this machine", hint="`edgespec models` shows which ones are"
        )
    return Removal(spec, tuple(doomed))


def carry_out(removal: Removal) -> int:
    """Delete what was planned. Returns: the bytes that came back.

    Raises: `ModelNotFound` when it went meanwhile.
    """
    return remove(removal.spec).freed_bytes


def _spec_of(resolved: Resolved) -> ModelSpec:
    model = resolved.model
    if isinstance(model, ModelSpec):
        return model
    real = model.absolute()
    for program, folders in (("Ollama", ollama_folders()), ("LM Studio", lmstudio_folders())):
        if any(folder in real.parents for folder in folders):
            hint = f"ollama rm {resolved.name}" if program == "Ollama" else "delete it there"
            raise UsageError(f"{resolved.name} belongs to {program}", hint=hint)
    if paths.hub_cache() in real.parents:
        return _cached(real)
    raise UsageError(
        f"{model} is a file of your own, which edgespec does not delete",
        hint="edgespec models lists what it can delete",
    )


def _cached(first: Path) -> ModelSpec:
    """A file of the Hugging Face cache, or the first of several, as a model: only this revision's
    names of them are meant."""
    found = []
    for path in shard_paths(first):
        repo, _, commit, *inside = path.relative_to(paths.hub_cache()).parts
        name = repo.removeprefix("models--").replace("--", "/", 1)
        source = HubSource(name, "/".join(inside), commit)
        found.append(ModelSpec(f"{name}:{path.name}", name, path.name, "", (source,)))
    return replace(found[0], shards=tuple(found[1:]))


def _judged(path: Path, going: list[Path]) -> Doomed:
    if path.is_symlink():
        return _link(path, going)
    status = path.stat()
    if status.st_nlink > 1:
        return Doomed(path, 0, f"{status.st_nlink - 1} other names of this file stay")
    return Doomed(path, status.st_size, "")


def _link(path: Path, going: list[Path]) -> Doomed:
    blob = blob_behind(path)
    if blob is None:
        return Doomed(path, 0, f"a link: {path.resolve()} stays")
    links = names_of(blob)
    staying = [link for link in links if link not in going]
    if staying:
        return Doomed(path, 0, f"{len(staying)} other revisions use the same file, so that stays")
    status = blob.stat()
    if status.st_nlink > 1:
        return Doomed(path, 0, f"{status.st_nlink - 1} other names of this file stay")
    is_last = path == [link for link in going if link in links][-1]
    return Doomed(path, status.st_size if is_last else 0, "" if is_last else "the same file again")
