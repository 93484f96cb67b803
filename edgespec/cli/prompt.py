"""What a person asked: `-p`, piped stdin, or both."""

import os
import sys

from edgespec.cli.interrupts import unmissed
from edgespec.errors import UsageError


def asked(prompt: str | None, *, reads_stdin: bool = True) -> str | None:
    """The question, or None when a conversation is wanted.

    Piped stdin is the question itself, or the text before the question that `-p` asks about it.
    Raises: `UsageError` when there is a question, but nothing in it.
    """
    piped = _piped() if reads_stdin else None
    if prompt is None and piped is None:
        return None
    parts = [part for part in (piped, _repaired(prompt or "")) if part and part.strip()]
    if not parts:
        raise UsageError("the prompt is empty", hint='try: edgespec -p "your question"')
    return "\n\n".join(part.rstrip("\n") for part in parts)


def is_watched() -> bool:
    """Whether a person can answer a question: typed on stdin, asked on stderr."""
    return all(not s.closed and s.isatty() for s in (sys.stdin, sys.stderr))


def _piped() -> str | None:
    if sys.stdin.closed or sys.stdin.isatty():
        return None
    # UTF-8 whatever the locale says: a pipe in another encoding is rarer than a wrong locale.
    with unmissed():
        return sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def _repaired(argument: str) -> str:
    """Command-line text with what the locale could not decode read as UTF-8."""
    return os.fsencode(argument).decode("utf-8", "replace")
