"""The prompts: four kinds of work, each short and long, as text files beside this module."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

Suite = Literal["short", "full"]
KINDS = ("chat", "code-edit", "summary", "json")
"""Free prose, an edit of code that is in the prompt, a summary with quotes, extraction as JSON."""


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """One user message."""

    name: str
    text: str


def prompts(suite: Suite) -> tuple[BenchPrompt, ...]:
    """The short prompts, or these and the long ones."""
    lengths = ("short",) if suite == "short" else ("short", "long")
    return tuple(_read(f"{kind}-{length}") for kind in KINDS for length in lengths)


def _read(name: str) -> BenchPrompt:
    text = (files("edgespec.bench") / "prompts" / f"{name}.txt").read_text(encoding="utf-8")
    return BenchPrompt(name, text.strip())
