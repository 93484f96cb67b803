"""GBNF for JSON strings that match a regular expression.

What is negated leaves out the characters that JSON would have to escape: everything produced
matches, though not everything that matches is produced.
"""

import json
import re
import string
from collections.abc import Iterable, Sequence

from edgespec.engine.json_text import literal

_Range = tuple[int, int]
_CLASSES: dict[str, Sequence[_Range]] = {
    "d": ((0x30, 0x39),),
    "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "s": ((0x20, 0x20), (0x09, 0x0D)),
}
_UNPLAIN = r'"\\\x00-\x1F\x7F'
_UNPLAIN_CODES = (0x22, 0x5C, *range(0x20), 0x7F)
_ESCAPABLE = '"\\\n\t\r'
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


def pattern(regex: str) -> str:
    """An expression for strings with a match of `regex`, which needs a rule named "char".

    Raises: `ValueError` naming what cannot be had in a grammar.
    """
    is_from_start, is_to_end = regex.startswith("^"), _ends_anchored(regex)
    inner = regex[is_from_start : len(regex) - is_to_end]
    reader = _Pattern(inner)
    body = reader.alternatives()
    if reader.rest:
        raise ValueError('")" without "("')
    if reader.has_top_alternatives and (is_from_start or is_to_end):
        raise ValueError('"^" or "$" beside "|": put the alternatives into parentheses')
    before, after = "" if is_from_start else "char* ", "" if is_to_end else " char*"
    return f"{before}({body}){after}"


def _ends_anchored(regex: str) -> bool:
    n_escapes = len(regex) - 1 - len(regex[:-1].rstrip("\\"))
    return regex.endswith("$") and n_escapes % 2 == 0


class _Pattern:
    """Reads one regular expression from left to right."""

    def __init__(self, regex: str) -> None:
        self.rest = regex
        self.has_top_alternatives = False
        self._depth = 0

    def alternatives(self) -> str:
        parts = [self._sequence()]
        while self.rest.startswith("|"):
            self._take(1)
            self.has_top_alternatives |= self._depth == 0
            parts.append(self._sequence())
        return " | ".join(parts)

    def _sequence(self) -> str:
        items = []
        while self.rest and self.rest[0] not in "|)":
            items.append(self._item() + self._quantifier())
        return " ".join(items) or '""'

    def _item(self) -> str:
        char = self._take(1)
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == ".":
            return f"[^{_UNPLAIN}]"
        if char in "^$*+?{":
            raise ValueError(f'"{char}" in this place')
        if char != "\\":
            return _json_char(char)
        kind = self._take(1)
        if kind in _CLASSES:
            return f"[{_class_of(_without_unplain(_CLASSES[kind]))}]"
        if kind.lower() in _CLASSES:
            return f"[^{_class_of(_CLASSES[kind.lower()])}{_UNPLAIN}]"
        return _json_char(self._escaped(kind))

    def _group(self) -> str:
        if self.rest.startswith("?:"):
            self._take(2)
        elif self.rest.startswith("?"):
            raise ValueError(f'"({self.rest[:3]}"')
        self._depth += 1
        body = self.alternatives()
        self._depth -= 1
        if self._take(1) != ")":
            raise ValueError('"(" without ")"')
        return f"({body})"

    def _class(self) -> str:
        is_negated = self.rest.startswith("^")
        self._take(is_negated)
        ranges: list[_Range] = []
        while not self.rest.startswith("]"):
            ranges += self._class_part()
        self._take(1)
        if is_negated:
            return f"[^{_class_of(ranges)}{_UNPLAIN}]"
        plain = _class_of(_without_unplain(ranges))
        parts = [f"[{plain}]"] if plain else []
        parts += [_json_char(c) for c in _ESCAPABLE if any(a <= ord(c) <= b for a, b in ranges)]
        if not parts:
            raise ValueError("a class without characters")
        return f"({' | '.join(parts)})"

    def _class_part(self) -> Sequence[_Range]:
        """A character, a range, or the ranges of an escape like \\d."""
        low = self._class_char()
        if not self.rest.startswith("-") or self.rest.startswith("-]"):
            return low
        self._take(1)
        high = self._class_char()
        if len({*low}) != 1 or len({*high}) != 1 or high[0][0] < low[0][1]:
            raise ValueError("a range that runs backwards")
        return ((low[0][0], high[0][1]),)

    def _class_char(self) -> Sequence[_Range]:
        char = self._take(1)
        if not char:
            raise ValueError('"[" without "]"')
        if char == "\\":
            kind = self._take(1)
            if kind in _CLASSES:
                return _CLASSES[kind]
            char = self._escaped(kind)
        return ((ord(char), ord(char)),)

    def _escaped(self, kind: str) -> str:
        n_digits = {"x": 2, "u": 4}.get(kind, 0)
        if n_digits:
            digits = self._take(n_digits)
            if len(digits) < n_digits or not set(digits) <= set(string.hexdigits):
                raise ValueError(f'"\\{kind}{digits}"')
            return chr(int(digits, 16))
        if kind in _CONTROL:
            return _CONTROL[kind]
        if not kind or kind.isalnum():
            raise ValueError(f'"\\{kind}"')
        return kind

    def _quantifier(self) -> str:
        found = ""
        if self.rest[:1] in ("*", "+", "?"):
            found = self._take(1)
        elif self.rest.startswith("{"):
            found, closed, self.rest = self.rest.partition("}")
            if not closed or not re.fullmatch(r"\{\d+(,\d*)?", found):
                raise ValueError(f'"{found}"')
            found += closed
        if found and self.rest.startswith("?"):
            self._take(1)  # lazy: the same strings match
        return found

    def _take(self, n: int) -> str:
        taken, self.rest = self.rest[:n], self.rest[n:]
        return taken


def _json_char(char: str) -> str:
    return literal(json.dumps(char, ensure_ascii=False)[1:-1])


def _class_of(ranges: Iterable[_Range]) -> str:
    """The inside of a GBNF class."""
    codes = ((f"\\U{a:08X}", f"\\U{b:08X}") for a, b in ranges)
    return "".join(low if low == high else f"{low}-{high}" for low, high in codes)


def _without_unplain(ranges: Iterable[_Range]) -> list[_Range]:
    """`ranges` without the characters that JSON escapes."""
    left = list(ranges)
    for code in _UNPLAIN_CODES:
        cut = [((a, min(b, code - 1)), (max(a, code + 1), b)) for a, b in left]
        left = [(a, b) for pair in cut for a, b in pair if a <= b]
    return sorted(set(left))
