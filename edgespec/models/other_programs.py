"""Models that other programs keep on this machine: Ollama, LM Studio, the Hugging Face cache.

Their files are read where they lie; nothing is copied, moved or changed.
"""

from collections.abc import Iterator
from pathlib import Path

from edgespec.models.folders import Found
from edgespec.models.hub_cache import all_hub_cache
from edgespec.models.lmstudio import all_lmstudio
from edgespec.models.ollama import all_ollama


def all_found() -> Iterator[Found]:
    """Every model of the other programs, one file once, however many names it has."""
    seen: set[Path] = set()
    for found in (*all_ollama(), *all_lmstudio(), *all_hub_cache()):
        real = found.path.resolve()
        if real not in seen:
            seen.add(real)
            yield found


def shown_name(path: Path) -> str:
    """What to call a file: its own name, except in a store that names files by their hash."""
    if path.parent.name == "blobs":
        for found in all_ollama():
            if found.path == path:
                return found.name
    return path.name
