"""Where indexes lie, and which there are: asked before anything is searched. Needs no numpy."""

from pathlib import Path
from typing import Final

from edgespec import paths

MANIFEST: Final = "manifest.json"
MOST_BYTES_OF_NAME: Final = 200
"""File systems take 255, of which those of a lock or of a partial file go off."""


def index_dir() -> Path:
    """The folder of all indexes."""
    return paths.data_dir() / "index"


def is_name(name: str) -> bool:
    """Whether an index can be called so: a file name on any system, and none that is hidden."""
    is_short = 0 < len(name.encode("utf-8", "surrogatepass")) <= MOST_BYTES_OF_NAME
    return is_short and name[0] != "." and all(c.isalnum() or c in "-_." for c in name)


def names() -> tuple[str, ...]:
    """Of all indexes on this machine; a copy that somebody keeps beside them is none."""
    try:
        found = [f.parent.name for f in index_dir().glob(f"*/{MANIFEST}")]
    except OSError:
        return ()
    return tuple(sorted(filter(is_name, found)))
