"""Models that LM Studio keeps on this machine: publisher/model/file, below its models folder."""

import re
from collections.abc import Iterator
from pathlib import Path

from edgespec.models.folders import (
    SAFE,
    Found,
    chosen,
    files_below,
    folders_in,
    read_json,
    with_quant,
)
from edgespec.models.quants import model_files
from edgespec.paths import user_home


def lmstudio_folders() -> tuple[Path, ...]:
    """Where LM Studio keeps models, the folder of its settings first."""
    told = read_json(user_home() / ".lmstudio" / "settings.json").get("downloadsFolder")
    # Such as a file system has: no NUL, no half of a pair.
    is_name = isinstance(told, str) and re.fullmatch("[^\0\ud800-\udfff]+", told)
    folders = [Path(str(told))] if is_name else []
    return (
        *folders,
        user_home() / ".lmstudio" / "models",
        user_home() / ".cache" / "lm-studio" / "models",
    )


def find_lmstudio(name: str, quant: str) -> Found | None:
    """The model in LM Studio's folder `name`: "publisher/model", or "model" alone."""
    for folder in lmstudio_folders():
        for place in _lmstudio_places(folder, name):
            if path := chosen(place, quant):
                return Found(name, "LM Studio", path)
    return None


def all_lmstudio() -> Iterator[Found]:
    """Every model of every folder."""
    for folder in lmstudio_folders():
        for path in sorted(files_below(folder)):
            parts = path.relative_to(folder).parts
            if len(parts) == 3 and model_files([path.name]):
                yield Found(with_quant("/".join(parts[:2]), "@", path), "LM Studio", path)


def _lmstudio_places(folder: Path, name: str) -> Iterator[Path]:
    parts = name.split("/")
    if not all(map(SAFE.fullmatch, parts)) or len(parts) > 2:
        return
    if len(parts) == 2:
        yield folder.joinpath(*parts)
        return
    for publisher in folders_in(folder):
        for end in ("", "-GGUF", "-gguf"):
            yield publisher / (name + end)
