"""Reading other programs' folders: what lies below one, which model of several, their JSON.

Never fails: what cannot be read is not there.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from edgespec.models.quants import choose, quant_of

SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""A part of a name that cannot climb out of a folder."""
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """A model file of another program."""

    name: str
    """What a person types for it."""
    program: str
    """"Ollama", "LM Studio" or "Hugging Face"."""
    path: Path
    """The file, or the first of its shards."""

    @property
    def size_bytes(self) -> int:
        """Size of the file; of the first shard only where there are several."""
        return self.path.stat().st_size


def files_below(folder: Path) -> Iterator[Path]:
    """Every file in `folder`, at any depth."""
    for top, _, names in os.walk(folder):
        for name in names:
            yield Path(top, name)


def folders_in(folder: Path) -> list[Path]:
    """The folders that lie directly in `folder`, by name."""
    try:
        return sorted(path for path in folder.iterdir() if os.path.isdir(path))
    except OSError:
        return []


def read_json(path: Path) -> dict[str, object]:
    """The object in a small file; empty where there is none to read."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return {}
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}  # not there, not ours to judge: the program has no such model
    return content if isinstance(content, dict) else {}


def chosen(folder: Path, quant: str) -> Path | None:
    """The model file below `folder` that `quant` means."""
    names = [path.relative_to(folder).as_posix() for path in sorted(files_below(folder))]
    name = choose(names, quant)
    return folder / name if name else None


def with_quant(name: str, mark: str, path: Path) -> str:
    """The name that means this file of several."""
    quant = quant_of(path.name)
    return f"{name}{mark}{quant}" if quant else name
