"""Whether an index is what was written: every byte is read, and damaged shards are thrown away."""

from contextlib import suppress
from pathlib import Path

from edgespec.errors import IndexFault
from edgespec.index.shard import Shard, fingerprint_of
from edgespec.index.store import Index
from edgespec.index.texts import read_texts


def verify(index: Index) -> list[str]:
    """What is wrong with an index, a sentence each. Reads everything, changes nothing."""
    try:
        segments = index.manifest.segments
    except IndexFault as fault:
        return [fault.message]
    found = []
    for segment in segments:
        try:
            read = [(d.path, d.sha256) for d in read_texts(index.folder / segment.texts)]
            if read != [(entry.path, entry.sha256) for entry in segment.entries]:
                found.append(f"{segment.texts} does not hold the documents that it should")
        except IndexFault as fault:
            found.append(fault.message)
        shards = sorted(index.folder.glob(f"{segment.number:06}-*.shard"))
        found += filter(None, map(_fault_of, shards))
    return found


def mend(index: Index) -> int:
    """Remove damaged shards, which are then built anew from the texts. Returns: how many."""
    n = 0
    with index.locked():
        for path in sorted(index.folder.glob("*.shard")):
            if _fault_of(path):
                with suppress(OSError):
                    path.unlink()
                    n += 1
    return n


def _fault_of(path: Path) -> str:
    """What is wrong with a shard, read to its end; empty: nothing."""
    try:
        with Shard(path, fingerprint_of(path)) as opened:
            opened.verify()
    except IndexFault as fault:
        return fault.message
    return ""
