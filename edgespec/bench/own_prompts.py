"""A user's own prompts, from files: plain text, TOML as the built-in ones, JSON or JSON lines."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgespec.bench.suite import BenchPrompt, read
from edgespec.errors import UsageError

KIND = "own"
_ROLES = ("system", "user", "assistant")


def own_prompts(path: Path) -> tuple[BenchPrompt, ...]:
    """The prompts in a file, named after it.

    A `.toml` holds `[[prompt]]` entries with `text` or `turns`, `.json` a list and `.jsonl` lines
    of objects with `prompt`, `text`, `turns` or `messages`; each may bring `name`, `seed` and
    `max_tokens`. Any other file is one prompt.
    Raises: `UsageError` saying what cannot be read.
    """
    try:
        found = tuple(_named(_entries(path), path.stem))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text in UTF-8") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} holds no prompts that can be read: {error}",
            hint='a .jsonl file has lines like {"prompt": "...", "max_tokens": 128}',
        ) from error
    if not found:
        raise UsageError(f"{path} holds no prompt")
    return found


def _named(entries: Iterator[dict[str, Any] | str], stem: str) -> Iterator[BenchPrompt]:
    read_entries = list(entries)
    for i, entry in enumerate(read_entries, start=1):
        name = stem if len(read_entries) == 1 else f"{stem}-{i}"
        yield replace(read(_plain(entry), KIND, name), length="own")


def _entries(path: Path) -> Iterator[dict[str, Any] | str]:
    text = path.read_text(encoding="utf-8-sig")
    match path.suffix.lower():
        case ".toml":
            yield from tomllib.loads(text)["prompt"]
        case ".jsonl":
            yield from (json.loads(line) for line in text.splitlines() if line.strip())
        case ".json":
            found = json.loads(text)
            yield from found if isinstance(found, list) else [found]
        case _:
            if text.strip():
                yield {"text": text}


def _plain(entry: dict[str, Any] | str) -> dict[str, Any]:
    """The entry in the words of the built-in files."""
    if isinstance(entry, str):
        return {"text": entry}
    if "prompt" in entry:
        return {**entry, "text": entry["prompt"]}
    if "messages" not in entry:
        return entry
    messages = [(m["role"], m["content"]) for m in entry["messages"]]
    if bad := next((role for role, _ in messages if role not in _ROLES), None):
        raise ValueError(f"a role is {bad!r}, but must be one of {', '.join(_ROLES)}")
    system = [content for role, content in messages if role == "system"]
    turns = [content for role, content in messages if role != "system"]
    return {**entry, **({"system": "\n\n".join(system)} if system else {}), "turns": turns}
