"""Indexes over a few words, with a tokenizer of bytes."""

import gzip

import numpy as np

from edgespec.index.documents import Document
from edgespec.index.ready import retriever
from edgespec.index.store import Index

FINGERPRINT = "ab" * 32
WIDE = "cd" * 32


def letters(text: str) -> list[int]:
    """A tokenizer of bytes."""
    return list(text.encode())


def silent(phase: str, share: float) -> None:
    """Nobody listens."""


def retrieved(text: str, k: int = 20, wanted: str = "notes") -> str:
    """What follows `text` in an index."""
    found = retriever(wanted, FINGERPRINT, letters, silent)
    try:
        tokens = found.retrieve(np.array(letters(text), np.int32)).tokens(k)
    finally:
        found.close()
    return bytes(tokens).decode()


def notes(*texts: str) -> Index:
    index = Index("notes")
    index.add([Document(f"{i}.txt", text) for i, text in enumerate(texts)])
    return index


def files_of(index: Index) -> dict[str, bytes]:
    """Every file, unpacked."""
    read = {file.name: file.read_bytes() for file in index.folder.iterdir()}
    return {
        name: gzip.decompress(raw) if name.endswith(".texts") else raw for name, raw in read.items()
    }
