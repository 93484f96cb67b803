"""The prompts: ten kinds of work, short and long, in three languages, as files beside this module.

Written for this project. A prompt of several turns brings its earlier answers along, so that every
engine continues the same text, whatever it would have said itself.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from edgespec.api.types import Message
from edgespec.errors import UsageError

Role = Literal["system", "user", "assistant"]
Length = Literal["short", "long"]
KINDS = (
    "chat",
    "code-edit",
    "summary",
    "json",
    "code",
    "translation",
    "reasoning",
    "creative",
    "qa",
    "agent",
)
"""The most telling first: free prose, an edit of code that is in the prompt, a summary with quotes,
extraction as JSON; then code from nothing, translation, reasoning, fiction, questions about a long
text, and an agent that repeats its calls."""
NAMED_KINDS = ("index-edit", "records")
"""Only in English, and only when they are named: answers that stand in a file which an index has
and the prompt has not, and many records of one form."""
LANGUAGES = ("en", "es", "zh")
LENGTHS: tuple[Length, ...] = ("short", "long")


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """A conversation whose next answer is measured."""

    name: str
    kind: str
    lang: str
    length: str
    """"short" or "long", by prompt and answer together."""
    seed: int
    max_tokens: int
    turns: tuple[tuple[Role, str], ...]
    """Who said what; the last is the user."""
    documents: tuple[str, ...] = ()
    """What an index holds while it is answered, and the prompt does not."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """For the API."""
        return tuple(Message(role=role, content=content) for role, content in self.turns)

    @property
    def text(self) -> str:
        """What the user said last."""
        return self.turns[-1][1]

    @property
    def n_bytes(self) -> int:
        """How much there is to read: in every script, tokens follow bytes more than characters."""
        return sum(len(content.encode()) for _, content in self.turns)


def prompts(suite: str = "full", languages: Sequence[str] = ("en",)) -> tuple[BenchPrompt, ...]:
    """The prompts of a suite: "short", "long", "full" (both), or kinds, separated by commas.

    Lengths come after each other, kinds in the order of `KINDS`: what comes first tells most. Those
    that must be named go before them.
    Raises: `UsageError` for a name that is no suite.
    """
    names = [name.strip() for name in suite.split(",") if name.strip()]
    for name in names:
        if name not in (*KINDS, *NAMED_KINDS, *LENGTHS, "full"):
            raise UsageError(
                f"there is no suite {name!r}", hint=f"choose from: short, long, full, {_KIND_LIST}"
            )
    lengths = [name for name in LENGTHS if name in names] or list(LENGTHS)
    if "full" in names:
        lengths = list(LENGTHS)
    kinds = [kind for kind in (*NAMED_KINDS, *KINDS) if kind in names] or list(KINDS)
    return tuple(
        prompt
        for length in lengths
        for kind in kinds
        for prompt in _written(kind)
        if prompt.lang in languages and prompt.length == length
    )


def documents_of(chosen: Sequence[BenchPrompt]) -> tuple[str, ...]:
    """What an index must hold while these are answered, each text once."""
    return tuple(dict.fromkeys(text for prompt in chosen for text in prompt.documents))


_KIND_LIST = ", ".join((*KINDS, *NAMED_KINDS))


@cache
def _written(kind: str) -> tuple[BenchPrompt, ...]:
    text = (files("edgespec.bench") / "prompts" / f"{kind}.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    documents = tuple(str(document["text"]).lstrip("\n") for document in found.get("document", ()))
    return tuple(
        replace(read(entry, kind, f"{kind}.toml"), documents=documents) for entry in found["prompt"]
    )


def read(entry: dict[str, Any], kind: str, name: str) -> BenchPrompt:
    """One entry of a prompt file; what it leaves out is that of a short English prompt.

    Raises: `KeyError`, `TypeError`, `ValueError` for an entry without a text to answer.
    """
    lang, length = str(entry.get("lang", "en")), str(entry.get("length", "short"))
    turns: list[tuple[Role, str]] = []
    if "system" in entry:
        turns.append(("system", str(entry["system"]).strip()))
    said = entry["turns"] if "turns" in entry else [entry["text"]]
    if not said or len(said) % 2 == 0:
        raise ValueError("turns alternate, and begin and end with the user's")
    if not str(said[-1]).strip():
        raise ValueError("its last turn is empty")
    seed, max_tokens = int(entry.get("seed", 1)), int(entry.get("max_tokens", 128))
    if seed < 0 or max_tokens < 1:
        raise ValueError(
            f"seed is {seed} and max_tokens {max_tokens}, which must be at least 0 and 1"
        )
    for i, content in enumerate(said):
        turns.append(("assistant" if i % 2 else "user", str(content).strip()))
    own_name = f"{kind}-{length}" + ("" if lang == "en" else f"-{lang}")
    return BenchPrompt(
        name=str(entry.get("name", own_name if name == f"{kind}.toml" else name)),
        kind=kind,
        lang=lang,
        length=length,
        seed=seed,
        max_tokens=max_tokens,
        turns=tuple(turns),
    )
