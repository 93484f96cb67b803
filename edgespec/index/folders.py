"""Where indexes lie, and which there are: asked before anything is searched. Needs no numpy."""

from pathlib import Path
from typing import Final

from edgespec import paths

MANIFEST: Final = "manifest.json"


def index_dir() -> Path:
    """The folder of all indexes."""
    return paths.data_dir() / "index"


def names() -> tuple[str, ...]:
    """Of all indexes on this machine."""
    try:
        return tuple(sorted(f.parent.name for f in index_dir().glob(f"*/{MANIFEST}")))
    except OSError:
        return ()
