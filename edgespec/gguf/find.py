"""Which file a path means: the first of its shards, the only model of a folder, or what is there.

Looks at names only; what is in a file is `header`'s question.
"""

import os
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from edgespec.errors import ModelNotFound
from edgespec.gguf.shards import is_later_shard, is_there, listed, shard_paths

_DEPTH: Final = 3
"""Folder levels searched: other programs keep publisher/repository/file."""


def located(path: Path) -> tuple[Path, str]:
    """The file to load, and a line for the person where it is not the one that was named.

    Raises: `ModelNotFound` with what there is instead; `ModelFileError` where shards are missing.
    """
    if os.path.isdir(path):
        return _only_model(path)
    if not is_there(path):
        raise not_found(path)
    first = shard_paths(path)[0]
    return first, "" if first == path else f"{path.name} is a later shard: using {first.name}"


def not_found(path: Path) -> ModelNotFound:
    """The error for a path where nothing is, with its neighbours."""
    folder = path.parent
    names = sorted(found.name for found in _models_in(folder, 1))
    if close := get_close_matches(path.name, names, n=3, cutoff=0.4):
        hint = f"did you mean {' or '.join(close)}?"
    elif names:
        hint = f"in that folder: {listed(names)}"
    elif not os.path.isdir(folder):
        hint = f"the folder {folder} does not exist either"
    else:
        hint = f"{folder} holds no .gguf file; `edgespec models` lists what can be had by name"
    return ModelNotFound(f"there is no file {path}", hint=hint)


def _only_model(folder: Path) -> tuple[Path, str]:
    found = sorted(_models_in(folder, _DEPTH))
    if len(found) == 1:
        return located(found[0])[0], f"using {found[0]}, the only GGUF file in {folder}"
    if not found:
        raise ModelNotFound(
            f"{folder} holds no .gguf file (searched {_DEPTH} folder levels)",
            hint="give the path of a .gguf file, or a name from `edgespec models`",
        )
    names = [str(path.relative_to(folder)) for path in found]
    raise ModelNotFound(
        f"{folder} holds {len(found)} GGUF files: {listed(names)}",
        hint=f"name one of them, for example {found[0]}",
    )


def _models_in(folder: Path, depth: int) -> Iterator[Path]:
    """GGUF files in `folder` and `depth - 1` levels below; of a split one only the first shard."""
    try:
        entries = list(folder.iterdir())
    except (OSError, ValueError):
        return  # a folder that is not there or may not be read holds nothing to use
    for entry in entries:
        if entry.suffix.lower() == ".gguf" and os.path.isfile(entry):
            if not is_later_shard(entry):
                yield entry
        elif depth > 1 and os.path.isdir(entry):
            yield from _models_in(entry, depth - 1)
