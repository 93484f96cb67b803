"""How much a foreign template may do: the steps it takes, and the texts it makes.

Owns: the arithmetic of a blow-up. Knows no jinja: `bounded` asks before and after an operation.
A template comes with a model file from anywhere, and nobody reads it before it runs.
"""

import re
from collections.abc import Iterable, Mapping, Sized
from typing import Any

MOST_STEPS = 500_000
"""Of one rendering: a round of a loop is one, a call ten; a thousand turns take some 50,000."""
MOST_CHARS = 1 << 26
"""Of one text, or items of one list; a prompt for a million tokens has a tenth of it."""
_PER_ITEM = 256
"""Characters that an item of a list counts for beside its own: looking at it takes time too."""
_NUMBERS = re.compile(r"\d+")


class TooMuch(Exception):
    """A template does more than any chat needs."""


class Steps:
    """The steps of one rendering, counted."""

    def __init__(self, most: int = MOST_STEPS) -> None:
        self._most = self._left = most

    def take(self, n: int) -> None:
        """So many more. Raises: `TooMuch`."""
        self._left -= n
        if self._left < 0:
            raise TooMuch(f"it takes more than {self._most:,} steps")


def allow(n_chars: int) -> None:
    """Raises: `TooMuch` for more than any prompt has."""
    if n_chars > MOST_CHARS:
        raise TooMuch(f"it makes a text of more than {MOST_CHARS:,} characters")


def extent(value: Any, room: int = MOST_CHARS) -> int:
    """Characters that `value` takes as a text, about; a part counts as often as it is in there.

    Raises: `TooMuch` for more than `room`.
    """
    if isinstance(value, Mapping):
        found = _sum((*value.keys(), *value.values()), room)
    elif isinstance(value, list | tuple):
        found = _sum(value, room)
    elif isinstance(value, int):
        found = value.bit_length() // 3 + 1
    else:
        found = len(value) if isinstance(value, str | bytes) else 1
    if found > room:
        allow(MOST_CHARS + 1)
    return found


def check_result(value: Any) -> Any:
    """`value`, unless it is too long by itself. Raises: `TooMuch`."""
    if isinstance(value, str | bytes | list | tuple | dict):
        allow(len(value))
    return value


def check_operation(operator: str, left: Any, right: Any) -> None:
    """Whether `left operator right` may be worked out. Raises: `TooMuch`."""
    if operator == "**" and isinstance(left, int) and isinstance(right, int):
        allow(left.bit_length() * right)
    elif operator == "*":
        for one, other in ((left, right), (right, left)):
            if isinstance(one, int) and isinstance(other, Sized):
                allow(one * len(other))
    elif operator == "%" and isinstance(left, str):
        _check_form(left, right)


def check_filling(name: str, text: Any, values: tuple[Any, ...]) -> None:
    """Whether a method of `text`, or a filter on it, may run with `values`. Raises: `TooMuch`."""
    extent((text, values))
    if not isinstance(text, str):
        if name == "join":  # the filter: its text goes between the items
            allow(_n_items(text) * extent(values))
        elif name == "tojson":  # what may be indented
            allow(extent(text) * (_largest(values) + 1))
    elif name in ("format", "format_map"):
        _check_form(text, values)
    elif name == "join":
        allow(len(text) * sum(map(_n_items, values)))
    elif name == "replace" and len(values) > 1 and isinstance(values[0], str):
        allow(len(text) + text.count(values[0]) * extent(values[1]))
    elif name in _PADDING:
        n_places = len(text) if name in ("translate", "wordwrap") else _n_places(text)
        allow(n_places * (extent(values) + _largest(values)))


def joined(parts: Iterable[str]) -> str:
    """The parts as one text. Raises: `TooMuch` before it is made."""
    kept: list[str] = []
    n_chars = 0
    for part in parts:
        n_chars += len(part)
        allow(n_chars)
        kept.append(part)
    return "".join(kept)


_PADDING = frozenset(
    ("center", "ljust", "rjust", "zfill", "expandtabs", "indent", "translate", "wordwrap")
)


def _check_form(form: str, values: Any) -> None:
    """Each place of a form may take all values, and be as wide as the largest number there."""
    n_places = form.count("%") + form.count("{")
    digits = (int(found[:20]) for found in _NUMBERS.findall(form))
    allow(len(form) + n_places * (extent(values) + max(_largest(values), *digits, 0)))


def _n_items(values: Any) -> int:
    """Of what is not there yet, more than a prompt has lines."""
    return len(values) if isinstance(values, Sized) else 1 << 16


def _n_places(text: str) -> int:
    return text.count("\t") + text.count("\n") + 1


def _largest(values: Any) -> int:
    """The largest number in there: what might be a width."""
    if isinstance(values, int):
        return values
    inside = values.values() if isinstance(values, Mapping) else values
    if not isinstance(inside, list | tuple) and inside is values:
        return 0
    return max((_largest(value) for value in inside), default=0)


def _sum(values: Iterable[Any], room: int) -> int:
    total = 0
    for value in values:
        total += _PER_ITEM + extent(value, room - total)
    return total
