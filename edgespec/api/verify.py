"""Whether the files of a model are what they claim: hashed again, whatever was remembered."""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from edgespec.errors import DownloadError, ModelFileError
from edgespec.gguf.header import read_header, read_part
from edgespec.gguf.shards import shard_paths
from edgespec.models.names import Resolved
from edgespec.models.spec import ModelSpec
from edgespec.store.disk import places
from edgespec.store.pins import pinned, remember

Progress = Callable[[Path, int, int], None]
"""Told a file, its bytes hashed so far, and all of them; may raise to give up."""

_CHUNK_BYTES: Final = 1 << 22
_BLOB: Final = re.compile(r"(?:sha256-)?([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Checked:
    """One file and what was found."""

    path: Path
    outcome: Literal["good", "bad", "unknown"]
    """"unknown": nothing says which hash it should have; its header is sound."""
    sha256: str
    told: str
    """One sentence for a person."""


def verify(resolved: Resolved, progress: Progress) -> Iterator[Checked]:
    """Hash every copy of the model that is on this machine.

    A hash that is wrong is remembered as such, so that the file is not used any more.
    """
    spec = resolved.model
    if isinstance(spec, ModelSpec):
        spec = pinned(spec)
        for path in places(spec):
            if path.is_file():
                found = _checked(path, spec.sha256, progress, is_head=spec.kind == "head")
                remember(spec, path, found.sha256)
                yield found
        return
    for path in shard_paths(spec):
        yield _checked(path, None, progress)


def _checked(
    path: Path, sha256: str | None, progress: Progress, *, is_head: bool = False
) -> Checked:
    wanted = sha256 or _named_hash(path)
    found = _hash(path, progress)
    if wanted is not None and found != wanted:
        return Checked(path, "bad", found, f"has the sha256 {found}, not the expected {wanted}")
    try:
        if is_head or len(shard_paths(path)) > 1:
            read_part(path)  # no model by itself
        else:
            read_header(path).tokens.check()
    except ModelFileError as error:
        return Checked(path, "bad", found, error.message)
    if wanted is None:
        return Checked(path, "unknown", found, f"is sound; nothing says what {found} should be")
    return Checked(path, "good", found, f"has the expected sha256 {found}")


def _named_hash(path: Path) -> str | None:
    """The hash that the caches of Ollama and Hugging Face name a file by."""
    for name in (path, path.resolve()):
        if name.parent.name == "blobs" and (match := _BLOB.fullmatch(name.name)):
            return match[1]
    return None


def _hash(path: Path, progress: Progress) -> str:
    digest, done_bytes, size_bytes = hashlib.sha256(), 0, path.stat().st_size
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
                done_bytes += len(chunk)
                progress(path, done_bytes, size_bytes)
    except OSError as error:
        raise DownloadError(
            f"{path} cannot be read after {done_bytes:,} bytes: {error.strerror or error}",
            hint="the disk may be failing: copy what matters elsewhere",
        ) from error
    return digest.hexdigest()
