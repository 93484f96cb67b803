"""Whether a file is the pinned one: its size always, its hash once.

A hash is remembered beside the model with the size and time of the file it was taken of; any change
of the file makes it unknown again. A model that the catalogue does not pin is pinned here by its
first download.
"""

import dataclasses
import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store.job import folder_of
from edgespec.store.progress import Meter, Tell

_log = logging.getLogger(__name__)
_CHUNK_BYTES = 1 << 20


def has_pinned_size(spec: ModelSpec, path: Path) -> bool:
    """Whether `path` is a file of the pinned size, or of any size where none is pinned."""
    return os.path.isfile(path) and spec.size_bytes in (None, path.stat().st_size)


def is_pinned(spec: ModelSpec, path: Path, tell: Tell) -> bool:
    """Whether `path` has the pinned size and hash; hashes only a file it has not seen before."""
    if not has_pinned_size(spec, path):
        return False
    if spec.sha256 is None:
        return True
    try:
        sha256 = _remembered(spec, path) or _hashed(spec, path, tell)
    except OSError as error:
        _log.warning("%s cannot be read: %s: not used", path, error.strerror or error)
        return False
    if sha256 != spec.sha256:
        _log.warning("%s has sha256 %s, not the pinned %s: not used", path, sha256, spec.sha256)
    return sha256 == spec.sha256


def pinned(spec: ModelSpec) -> ModelSpec:
    """`spec` with the pins of its first download here, where the catalogue has none."""
    if spec.sha256 is not None:
        return spec
    match _notes(_pin_file(spec)):
        case {"file": spec.file, "size_bytes": int(size), "sha256": str(sha256), "commit": commit}:
            sources = (
                dataclasses.replace(source, revision=str(commit))
                if isinstance(source, HubSource)
                else source
                for source in spec.sources
            )
            return dataclasses.replace(spec, size_bytes=size, sha256=sha256, sources=tuple(sources))
    return spec


def pin(spec: ModelSpec, commit: str, size_bytes: int, sha256: str) -> None:
    """From now on only this file is the model's."""
    pins = {"file": spec.file, "size_bytes": size_bytes, "sha256": sha256, "commit": commit}
    _write(_pin_file(spec), pins)


def remember(spec: ModelSpec, path: Path, sha256: str) -> None:
    """Note the hash of `path` as it is now."""
    ledger = _ledger(spec)
    try:
        _write(ledger, _notes(ledger) | {str(path): [*_stamp(path), sha256]})
    except OSError as error:
        # Only the next start's time is lost.
        _log.info("cannot remember the hash of %s: %s", path, error)


def _hashed(spec: ModelSpec, path: Path, tell: Tell) -> str:
    meter = Meter(tell, spec.file, "verify", str(path.parent), path.stat().st_size)
    digest = hashlib.sha256()
    done_bytes = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            done_bytes += len(chunk)
            meter.at(done_bytes)
    sha256 = digest.hexdigest()
    remember(spec, path, sha256)
    return sha256


def _remembered(spec: ModelSpec, path: Path) -> str | None:
    match _notes(_ledger(spec)).get(str(path)):
        case [size, time, str(sha256)] if (size, time) == _stamp(path):
            return sha256
    return None


def _write(file: Path, notes: dict[str, Any]) -> None:
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh.write_text(json.dumps(notes), encoding="utf-8")
    os.replace(fresh, file)


def _notes(ledger: Path) -> dict[str, Any]:
    try:
        notes = json.loads(ledger.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # none yet, or cut off by a crash: hash again
    return notes if isinstance(notes, dict) else {}


def _ledger(spec: ModelSpec) -> Path:
    return folder_of(spec) / "verified.json"


def _pin_file(spec: ModelSpec) -> Path:
    return folder_of(spec) / "pin.json"


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
