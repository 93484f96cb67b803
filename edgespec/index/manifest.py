"""What an index consists of: segments of documents, with their texts and shards. Values, JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgespec.errors import IndexFault
from edgespec.files import write_whole

_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One document."""

    path: str
    sha256: str
    n_bytes: int
    """Of its text in UTF-8."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Documents that were added together, or merged since; never changed in place."""

    number: int
    entries: tuple[Entry, ...]

    @property
    def n_bytes(self) -> int:
        """Of all texts."""
        return sum(entry.n_bytes for entry in self.entries)

    @property
    def texts(self) -> str:
        """Name of the file with the texts."""
        return f"{self.number:06}.texts"

    def shard(self, fingerprint: str) -> str:
        """Name of the shard for a vocabulary."""
        return f"{self.number:06}-{fingerprint[:16]}.shard"


@dataclass(frozen=True, slots=True)
class Manifest:
    """All segments, oldest first."""

    segments: tuple[Segment, ...] = ()
    next_number: int = 1

    @property
    def n_documents(self) -> int:
        """Of all segments."""
        return sum(len(segment.entries) for segment in self.segments)

    @property
    def n_bytes(self) -> int:
        """Of all texts."""
        return sum(segment.n_bytes for segment in self.segments)


def read_manifest(path: Path) -> Manifest:
    """Raises: `IndexFault` for a file that is damaged or of a later version."""
    try:
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found["schema"] != _SCHEMA:
            raise IndexFault(f"{path} has version {found['schema']} of the format, not {_SCHEMA}")
        segments = tuple(
            Segment(int(s["number"]), tuple(_entry(**entry) for entry in s["entries"]))
            for s in found["segments"]
        )
        return Manifest(segments, int(found["next_number"]))
    except FileNotFoundError:
        return Manifest()
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise IndexFault(
            f"{path} is damaged: {error}",
            hint=f"edgespec index rm {path.parent.name} removes the index",
        ) from error


def _entry(path: object, sha256: object, n_bytes: object) -> Entry:
    """Raises: `TypeError` for what is no document."""
    if isinstance(path, str) and isinstance(sha256, str) and isinstance(n_bytes, int):
        return Entry(path, sha256, n_bytes)
    raise TypeError(f"{path!r}, {sha256!r}, {n_bytes!r} is no document")


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Raises: `OSError`; the old one is then still there."""
    write_whole(path, json.dumps({"schema": _SCHEMA, **asdict(manifest)}))
