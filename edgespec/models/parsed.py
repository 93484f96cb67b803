"""TOML as values, kept as JSON once it was read.

The catalogue takes 15 ms of CPU and more to parse, which every start would pay before a person
sees anything; its JSON takes one. Must not know what the text says.
"""

import hashlib
import json
from contextlib import suppress
from typing import Any

from edgespec import files, paths

WORTH_KEEPING = 10_000
"""Characters from which a text is kept: a person's own file is short."""


def parsed(text: str) -> dict[str, Any]:
    """What `text` says. Raises: `ValueError` where it is no TOML."""
    if len(text) < WORTH_KEEPING:
        return _read(text)
    name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    kept = paths.cache_dir() / "toml" / f"{name}.json"
    with suppress(OSError, ValueError, RecursionError):  # not there yet, or damaged
        said = json.loads(kept.read_text(encoding="utf-8"))
        if isinstance(said, dict):
            return said
    said = _read(text)
    with suppress(OSError, TypeError):  # a home that cannot be written to; a date, no JSON
        files.write_whole(kept, json.dumps(said))
    return said


def _read(text: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text)
