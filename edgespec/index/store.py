"""One index on the disk: documents in segments, and for every vocabulary in use a shard of each.

Log-structured: an addition makes a segment, and small segments are merged into larger ones, so
that few are searched. A file never changes; the manifest says which count, and is replaced last.
"""

import errno
import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgespec.errors import IndexFault, UsageError
from edgespec.files import PARTIAL, owned_folder
from edgespec.index.documents import Document
from edgespec.index.folders import MANIFEST, MOST_BYTES_OF_NAME, index_dir, is_name, names
from edgespec.index.manifest import Manifest, read_manifest, write_manifest
from edgespec.index.segments import joined, new_segment
from edgespec.index.texts import read_texts

MOST_SEGMENTS = 6
"""Each is searched at every step."""
MOST_BYTES = 100 << 20
"""Of texts: about 25 million tokens, 200 MB of shards for each vocabulary."""
_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Change:
    """What an addition did."""

    added: int
    replaced: int
    unchanged: int


def check_size(n_bytes: int) -> None:
    """Raises: `UsageError` where one index would have to hold so much text, or more."""
    if n_bytes > MOST_BYTES:
        raise UsageError(
            f"the index would hold {n_bytes / 1e6:,.0f} MB of text or more, of at most"
            f" {MOST_BYTES / 1e6:,.0f}",
            hint="add less, or spread it over several indexes with --name",
        )


class Index:
    """A named index. Every change holds a lock; readers need none, since files never change."""

    def __init__(self, name: str, *, wait_s: float = _WAIT_S) -> None:
        """Opens nothing; a change waits so long for another process's.

        Raises: `UsageError` for a name that is no file name.
        """
        if not is_name(name):
            raise UsageError(
                f"{name!r} cannot name an index",
                hint=f"take letters, digits, '-', '_' and '.', {MOST_BYTES_OF_NAME} at most",
            )
        self.name = name
        self._wait_s = wait_s
        self.folder = index_dir() / name

    @property
    def exists(self) -> bool:
        """Whether anything was ever added."""
        return (self.folder / MANIFEST).exists()

    @property
    def manifest(self) -> Manifest:
        """As it is on the disk now. Raises: `IndexFault`."""
        return read_manifest(self.folder / MANIFEST)

    def checked(self) -> "Index":
        """Itself. Raises: `UsageError` where there is none of this name."""
        if not self.exists:
            there = ", ".join(names()) or "none"
            raise UsageError(
                f"there is no index {self.name!r}; there are: {there}",
                hint=f"edgespec index add PATH --name {self.name}",
            )
        return self

    def add(self, documents: list[Document], *, drops_oldest: bool = False) -> Change:
        """Add documents; one whose path is known replaces it, unless its text is the same.

        `drops_oldest`: what exceeds the cap pushes out the oldest segments.
        Raises: `UsageError` above the cap, `IndexFault` when the disk is full or not writable.
        """
        with self._changing() as manifest:
            known = {e.path: e.sha256 for s in manifest.segments for e in s.entries}
            fresh = [d for d in documents if known.get(d.path) != d.sha256]
            gone = {document.path for document in fresh} & known.keys()
            kept = self._with(self._without(manifest, gone), fresh)
            while drops_oldest and kept.n_bytes > MOST_BYTES and len(kept.segments) > 1:
                kept = Manifest(kept.segments[1:], kept.next_number)
            check_size(kept.n_bytes)
            self._commit(self._merged(kept))
        return Change(len(fresh) - len(gone), len(gone), len(documents) - len(fresh))

    def forget(self, text: str) -> tuple[str, ...]:
        """Remove every document that contains `text` from all files. Returns: their paths.

        Raises: `IndexFault` also where another program has an old file open and it stays.
        """
        if not text:
            raise UsageError("an empty text is in every document", hint="edgespec index rm NAME")
        with self._changing() as manifest:
            texts = (self.folder / segment.texts for segment in manifest.segments)
            gone = {d.path for path in texts for d in read_texts(path) if text in d.text}
            self._commit(self._without(manifest, gone))
            if kept := self.sweep(self.manifest):
                raise IndexFault(
                    f"{', '.join(kept)} of the index {self.name!r} cannot be deleted: still in use",
                    hint="end the programs that draft from it, and forget again",
                )
        return tuple(sorted(gone))

    def remove(self) -> int:
        """Delete the index. Returns: the bytes it took. Raises: `IndexFault`."""
        with self.locked():  # also one whose manifest is damaged
            size = self.size_bytes
            shutil.rmtree(self.folder)
        return size

    @property
    def size_bytes(self) -> int:
        """On the disk."""
        return sum(file.stat().st_size for file in self.folder.glob("*") if file.is_file())

    def _without(self, manifest: Manifest, gone: Set[str]) -> Manifest:
        """A manifest without the documents at some paths; what held one is written anew."""
        segments, number = [], manifest.next_number
        for segment in manifest.segments:
            if all(entry.path not in gone for entry in segment.entries):
                segments.append(segment)
            elif (rest := joined(self.folder, number, [segment], gone)) is not None:
                segments.append(rest)
                number += 1
        return Manifest(tuple(segments), number)

    def _with(self, manifest: Manifest, documents: list[Document]) -> Manifest:
        if not documents:
            return manifest
        segment = new_segment(self.folder, manifest.next_number, documents)
        return Manifest((*manifest.segments, segment), manifest.next_number + 1)

    def _merged(self, manifest: Manifest) -> Manifest:
        """Neighbours as one where the later is not much smaller, or there are too many."""
        segments, number = list(manifest.segments), manifest.next_number
        while len(segments) > 1:
            sizes = [segment.n_bytes for segment in segments]
            at = next((i for i in range(len(sizes) - 1) if sizes[i] < 2 * sizes[i + 1]), None)
            if at is None and len(segments) > MOST_SEGMENTS:
                at = len(segments) - 2
            if at is None:
                break
            both = joined(self.folder, number, segments[at : at + 2])
            assert both is not None, f"segments without documents: {segments[at : at + 2]}"
            segments[at : at + 2] = [both]
            number += 1
        return Manifest(tuple(segments), number)

    def _commit(self, manifest: Manifest) -> None:
        """Make `manifest` the index, then remove what it no longer names."""
        write_manifest(self.folder / MANIFEST, manifest)
        self.sweep(manifest)

    def sweep(self, manifest: Manifest) -> list[str]:
        """Delete files of segments that are gone, and what a killed process left. Returns: names of
        those that stay for now, since a reader has them open on a system that minds."""
        prefixes = tuple(f"{segment.number:06}" for segment in manifest.segments)
        kept = []
        for file in sorted(self.folder.glob("*")):
            is_part = file.suffix in (".texts", ".shard") and not file.name.startswith(prefixes)
            if is_part or file.suffix == PARTIAL:
                try:
                    file.unlink()
                except OSError:
                    kept.append(file.name)
        return kept

    @contextmanager
    def _changing(self) -> Iterator[Manifest]:
        with self.locked():
            manifest = self.manifest
            # A killed change left files under numbers that are given again.
            self.sweep(manifest)
            yield manifest

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else changes the index meanwhile. Raises: `IndexFault`."""
        # Imported late: searching needs no lock.
        from filelock import FileLock, Timeout

        with told(self.folder):
            owned_folder(index_dir())
            owned_folder(self.folder)
            lock = FileLock(index_dir() / f".{self.name}.lock", mode=0o600)
            try:
                lock.acquire(timeout=self._wait_s)
            except Timeout as error:
                raise IndexFault(
                    f"another process has been changing the index {self.name!r} for"
                    f" {self._wait_s:.0f} s"
                ) from error
            try:
                yield
            finally:
                lock.release()


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """`OSError` as a sentence; what was there before is still there."""
    try:
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise IndexFault(
            f"{folder} cannot be written: {error.strerror or error}",
            hint="make room; the index is as it was" if is_full else "",
        ) from error
