"""Making segments: from new documents, or from what is kept of older ones.

A shard follows its texts: tokens of kept documents are copied from the old shards, since to
tokenise them again would cost a hundred times as much. Knows files; not which of them count.
"""

import logging
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

import numpy as np

from edgespec.errors import IndexFault
from edgespec.index import shard
from edgespec.index.documents import Document
from edgespec.index.manifest import Entry, Segment
from edgespec.index.suffix_array import SEPARATOR, Stored
from edgespec.index.texts import read_texts, write_texts

_log = logging.getLogger(__name__)


def new_segment(folder: Path, number: int, documents: Sequence[Document]) -> Segment:
    """Write the texts of `documents`; shards are built when a vocabulary asks for them.

    Raises: `OSError`.
    """
    entries = tuple(
        Entry(d.path, d.sha256, len(d.text.encode("utf-8", "surrogatepass"))) for d in documents
    )
    segment = Segment(number, entries)
    write_texts(folder / segment.texts, documents)
    return segment


def joined(
    folder: Path, number: int, segments: Sequence[Segment], gone: Set[str] = frozenset()
) -> Segment | None:
    """One segment of all documents whose path is not `gone`, with the shards that all have.

    None: nothing is left. Raises: `OSError`; `IndexFault` where texts are damaged.
    """
    entries = tuple(e for segment in segments for e in segment.entries if e.path not in gone)
    if not entries:
        return None
    made = Segment(number, entries)
    write_texts(folder / made.texts, _kept(folder, segments, gone))
    for name in _vocabularies(folder, segments):
        try:
            _join_shards(folder, made, segments, gone, name)
        except IndexFault as fault:
            _log.info("%s; it will be built anew", fault)
    return made


def _kept(folder: Path, segments: Sequence[Segment], gone: Set[str]) -> Iterator[Document]:
    for segment in segments:
        for document in read_texts(folder / segment.texts):
            if document.path not in gone:
                yield document


def _vocabularies(folder: Path, segments: Sequence[Segment]) -> set[str]:
    """Short fingerprints for which every segment has a shard."""
    each = [
        {file.stem.partition("-")[2] for file in folder.glob(f"{segment.number:06}-*.shard")}
        for segment in segments
    ]
    return set.intersection(*each) if each else set()


def _join_shards(
    folder: Path, made: Segment, segments: Sequence[Segment], gone: Set[str], name: str
) -> None:
    parts: list[Stored] = []
    fingerprint = b""
    for segment in segments:
        path = folder / segment.shard(name)
        fingerprint = shard.fingerprint_of(path)
        with shard.Shard(path, fingerprint) as opened:
            tokens = opened.tokens
        ends = np.flatnonzero(tokens == SEPARATOR) + 1
        if len(ends) != len(segment.entries):
            raise IndexFault(f"{path.name} has {len(ends)} documents, not {len(segment.entries)}")
        starts = np.concatenate(([0], ends[:-1]))
        for entry, start, end in zip(segment.entries, starts, ends, strict=True):
            if entry.path not in gone:
                parts.append(tokens[start:end])
    shard.write(folder / made.shard(name), np.concatenate(parts), fingerprint)
