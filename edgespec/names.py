"""What a person may type for a model: a catalogue name, with a quantisation or not, or a path.

Resolves names only; whether a catalogue model is on disk is `edgespec.store`'s question.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgespec.catalogue import Catalogue
from edgespec.errors import ModelFileError, ModelNotFound
from edgespec.modelspec import ModelSpec

_SHARD = re.compile(r"(?P<stem>.+)-(?P<n>\d{5})-of-(?P<total>\d{5})\.gguf", re.IGNORECASE)
_PIECE = re.compile(r"(?P<whole>.+)\.part(?P<n>\d+)of(?P<total>\d+)", re.IGNORECASE)
_DEPTH = 3
"""Folder levels searched for GGUF files: other programs keep publisher/repository/file."""
_LISTED = 10


@dataclass(frozen=True, slots=True)
class Resolved:
    """The model that a name means."""

    model: ModelSpec | Path
    """A catalogue entry, or an existing GGUF file (the first shard of a split one)."""
    notice: str = ""
    """One line for the person when the name was not taken literally; else empty."""

    @property
    def name(self) -> str:
        """Catalogue id or file name, for display."""
        return self.model.id if isinstance(self.model, ModelSpec) else self.model.name


def resolve(text: str, catalogue: Catalogue) -> Resolved:
    """The model that `text` means: `id`, `id:QUANT`, `id@quant`, a file or a folder.

    Raises: `ModelNotFound` with what there is instead; `ModelFileError` for a raw split.
    """
    text = text.strip()
    if not text:
        raise ModelNotFound("the model's name is empty", hint="`edgespec models` lists all names")
    if _looks_like_path(text):
        return _from_path(Path(text).expanduser())
    base, quant = _split_quant(text)
    try:
        spec, notice = catalogue.find(base)
    except ModelNotFound:
        # Ollama writes the size as a tag: qwen3:14b.
        dashed = text.replace(":", "-").lower()
        if dashed in catalogue.models:
            return Resolved(catalogue.models[dashed], f"{text} is called {dashed} here")
        if Path(text).exists():
            return _from_path(Path(text))
        raise
    if quant and quant.lower() != spec.quant.lower():
        raise ModelNotFound(
            f"{spec.id} is catalogued as {spec.quant} only, not as {quant}",
            hint=f"use {spec.id}:{spec.quant}, or the path of a {quant} file of your own",
        )
    return Resolved(spec, notice)


def _looks_like_path(text: str) -> bool:
    separators = {"/", os.sep, os.altsep or os.sep}
    return (
        text.lower().endswith(".gguf")
        or text.startswith("~")
        or text in (".", "..")
        or any(separator in text for separator in separators)
    )


def _split_quant(text: str) -> tuple[str, str]:
    at = max(text.find(":"), text.find("@"))
    return (text, "") if at < 0 else (text[:at], text[at + 1 :])


def _from_path(path: Path) -> Resolved:
    if path.is_dir():
        return _from_folder(path)
    if not path.exists():
        raise ModelNotFound(f"there is no file {path}", hint=_neighbours(path))
    if piece := _PIECE.fullmatch(path.name):
        whole = piece["whole"]
        raise ModelFileError(
            f"{path.name} is piece {piece['n']} of {piece['total']} of a file cut apart",
            hint=f"join the pieces in order into {whole}, then use that",
        )
    if shard := _SHARD.fullmatch(path.name):
        return _first_shard(path, shard)
    return Resolved(path)


def _first_shard(path: Path, shard: re.Match[str]) -> Resolved:
    total = int(shard["total"])
    suffix = path.name[-len(".gguf") :]
    names = [f"{shard['stem']}-{n:05}-of-{total:05}{suffix}" for n in range(1, total + 1)]
    missing = [name for name in names if not path.with_name(name).is_file()]
    if missing:
        raise ModelNotFound(
            f"{path.name} is one of {total} shards, and {_some(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing in {path.parent}",
            hint="put all shards into one folder",
        )
    first = path.with_name(names[0])
    notice = "" if path == first else f"{path.name} is a later shard: using {first.name}"
    return Resolved(first, notice)


def _from_folder(folder: Path) -> Resolved:
    found = sorted(_models_below(folder, _DEPTH))
    if len(found) == 1:
        resolved = _from_path(found[0])
        return Resolved(resolved.model, f"using {found[0]}, the only GGUF file in {folder}")
    if not found:
        raise ModelNotFound(
            f"{folder} holds no .gguf file (searched {_DEPTH} folder levels)",
            hint="give the path of a .gguf file, or a name from `edgespec models`",
        )
    names = [str(path.relative_to(folder)) for path in found]
    raise ModelNotFound(
        f"{folder} holds {len(found)} GGUF files: {_some(names)}",
        hint=f"name one of them, for example {found[0]}",
    )


def _models_below(folder: Path, depth: int) -> Iterator[Path]:
    """GGUF files in `folder` and `depth - 1` levels below; of a split one only the first shard."""
    try:
        entries = list(folder.iterdir())
    except OSError:
        return  # an unreadable folder holds nothing that could be used
    for entry in entries:
        shard = _SHARD.fullmatch(entry.name)
        if entry.name.lower().endswith(".gguf") and entry.is_file():
            if shard is None or int(shard["n"]) == 1:
                yield entry
        elif depth > 1 and entry.is_dir():
            yield from _models_below(entry, depth - 1)


def _neighbours(path: Path) -> str:
    import difflib

    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either"
    names = sorted(found.name for found in _models_below(path.parent, 1))
    if near := difflib.get_close_matches(path.name, names, n=3):
        return f"did you mean {' or '.join(near)}?"
    if names:
        return f"{path.parent} holds {_some(names)}"
    return f"{path.parent} holds no .gguf file; `edgespec models` lists what can be fetched"


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    more = len(names) - _LISTED
    return f"{shown} and {more} more" if more > 0 else shown
