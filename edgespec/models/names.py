"""What a person may type for a model: a catalogue name, with a quantisation or not, or a path.

Resolves catalogue names; what a path means is `gguf.find`'s question, whether a catalogue model is
on disk `edgespec.store`'s.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from edgespec.errors import ModelNotFound
from edgespec.gguf.find import located
from edgespec.models.catalogue import Catalogue
from edgespec.models.spec import ModelSpec


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

    Raises: `ModelNotFound` with what there is instead; `ModelFileError` where shards are
    missing.
    """
    text = text.strip()
    if not text:
        raise ModelNotFound("the model's name is empty", hint="`edgespec models` lists all names")
    if _looks_like_path(text):
        return Resolved(*located(Path(text).expanduser()))
    base, quant = _split_quant(text)
    try:
        spec, notice = catalogue.find(base)
    except ModelNotFound:
        # Ollama writes the size as a tag: qwen3:14b.
        dashed = text.replace(":", "-").lower()
        if dashed in catalogue.models:
            return Resolved(catalogue.models[dashed], f"{text} is called {dashed} here")
        if os.path.exists(text):
            return Resolved(*located(Path(text)))
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
