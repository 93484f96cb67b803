"""An index made ready for a vocabulary: its shards, built where they are missing."""

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from edgespec.errors import IndexFault
from edgespec.index import shard
from edgespec.index.documents import Document
from edgespec.index.folders import names
from edgespec.index.retrieve import Retriever
from edgespec.index.shard import Shard
from edgespec.index.store import Index, told
from edgespec.index.texts import read_texts

Tokenize = Callable[[str], Sequence[int]]
Tell = Callable[[str, float], None]
_log = logging.getLogger(__name__)


def retriever(wanted: str, fingerprint: str, tokenize: Tokenize, tell: Tell) -> Retriever:
    """Over the index named `wanted`; "auto": over all, and a damaged one is left out and told.

    Raises: `UsageError` and `IndexFault` for an index that was named.
    """
    shards: list[Shard] = []
    try:
        for name in names() if wanted == "auto" else (wanted,):
            try:
                shards += shards_of(Index(name).checked(), fingerprint, tokenize, tell)
            except IndexFault as fault:
                if wanted != "auto":
                    raise
                _log.warning("the index %r is left out: %s", name, fault.message)
    except BaseException:
        for opened in shards:
            opened.close()
        raise
    return Retriever(shards)


def shards_of(index: Index, fingerprint: str, tokenize: Tokenize, tell: Tell) -> list[Shard]:
    """All shards for a vocabulary, open; missing and damaged ones are built. `tell(phase, share)`.

    Raises: `IndexFault`.
    """
    try:
        return _opened(index, fingerprint)
    except IndexFault as fault:
        _log.info("%s", fault.message)
    # Opened within the lock, too: another process's next merge takes files away.
    with index.locked(), told(index.folder):
        _build(index, fingerprint, tokenize, tell)
        return _opened(index, fingerprint)


def _opened(index: Index, fingerprint: str) -> list[Shard]:
    key = bytes.fromhex(fingerprint)
    opened: list[Shard] = []
    try:
        for segment in index.manifest.segments:
            opened.append(Shard(index.folder / segment.shard(fingerprint), key))
    except BaseException:
        for one in opened:
            one.close()
        raise
    return opened


def _is_there(path: Path, fingerprint: str) -> bool:
    """Whether a shard can be opened; a damaged one is told."""
    if not path.exists():
        return False
    try:
        Shard(path, bytes.fromhex(fingerprint)).close()
    except IndexFault as fault:
        _log.warning("%s; it is built anew", fault.message)
        return False
    return True


def _build(index: Index, fingerprint: str, tokenize: Tokenize, tell: Tell) -> None:
    """Write the shards that are missing or damaged; the caller holds the lock."""
    missing = [
        segment
        for segment in index.manifest.segments
        if not _is_there(index.folder / segment.shard(fingerprint), fingerprint)
    ]
    total = sum(segment.n_bytes for segment in missing) or 1
    done = 0

    def tokenized(documents: Iterator[Document]) -> Iterator[Sequence[int]]:
        nonlocal done
        for document in documents:
            tell(f"indexing {index.name}", done / total)
            is_known = document.ids and document.fingerprint == fingerprint
            yield document.ids if is_known else tokenize(document.text)
            done += len(document.text)

    for segment in missing:
        texts = read_texts(index.folder / segment.texts)
        tokens = shard.stored(tokenized(texts))
        shard.write(index.folder / segment.shard(fingerprint), tokens, bytes.fromhex(fingerprint))
