"""A cascade as a person names it: `--draft A,B`, each drafting for the one before it."""

import os
from pathlib import Path
from typing import Final

from edgespec.errors import UsageError

RETRIEVAL: Final = "suffix"
"""May end a cascade; it is under every draft model anyway, and takes nothing."""
_WORDS: Final = ("auto", "off")


def drafts_named(said: str | Path) -> tuple[str | Path, ...]:
    """The models, the target's own draft first. A name without a comma is what it is.

    Raises: `UsageError` for what is no cascade.
    """
    if isinstance(said, Path) or "," not in said or os.path.exists(said):
        return (said,)
    names = [name.strip() for name in said.split(",")]
    models = names[:-1] if names[-1] == RETRIEVAL else names
    if not all(names) or RETRIEVAL in models or not models:
        raise UsageError(
            f"{said!r} is no cascade", hint=f"for example --draft MODEL,SMALLER,{RETRIEVAL}"
        )
    if words := [name for name in models if name in _WORDS]:
        raise UsageError(
            f"a cascade names its models, and {words[0]!r} is none", hint="--draft MODEL,SMALLER"
        )
    if len(set(models)) < len(models):
        raise UsageError(f"{said!r} names a model twice", hint="each drafts for a larger one")
    return tuple(models)
