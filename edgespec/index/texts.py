"""The texts of one segment, kept to build a shard for any vocabulary: packed JSON lines.

Written whole or not at all, readable by the owner alone.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from edgespec.errors import IndexFault
from edgespec.files import whole
from edgespec.index.documents import Document

_LEVEL = 4  # source code shrinks to a quarter at 60 MB/s


def write_texts(path: Path, documents: Iterable[Document]) -> None:
    """Raises: `OSError` when the disk is full or the folder cannot be written."""
    with whole(path) as raw, gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed:
        for document in documents:
            line = {
                "path": document.path,
                "text": document.text,
                "ids": document.ids,
                "fingerprint": document.fingerprint,
            }
            packed.write(json.dumps(line).encode() + b"\n")


def read_texts(path: Path) -> Iterator[Document]:
    """Raises: `IndexFault` when the file is damaged, after what could be read."""
    try:
        with gzip.open(path, "rb") as packed:
            for line in packed:
                found = json.loads(line)
                yield Document(
                    found["path"], found["text"], tuple(found["ids"]), found["fingerprint"]
                )
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError) as error:
        raise IndexFault(
            f"{path.name} is damaged: {error}",
            hint=f"edgespec index rm {path.parent.name} removes the index; add the files again",
        ) from error
