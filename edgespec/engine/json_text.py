"""GBNF for JSON without a schema: its rules, and characters, formats and keys of its strings."""

import json
from collections.abc import Iterable

from edgespec.engine.json_number import INTEGER, NUMBER

CHAR = (
    r'[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" '
    r"([0-9A-CE-Fa-ce-f] [0-9A-Fa-f]{3} | [Dd] [0-7] [0-9A-Fa-f]{2}))"
)
"""One character; no halves of surrogate pairs, which are no characters."""

RULES = {
    "value": "object | array | string | number | boolean | null",
    "object": '"{" ws (string ":" ws value ("," ws string ":" ws value)* ws)? "}"',
    "array": '"[" ws (value ("," ws value)* ws)? "]"',
    "string": r'"\"" char* "\""',
    "char": CHAR,
    "number": NUMBER,
    "integer": INTEGER,
    "boolean": '"true" | "false"',
    "null": '"null"',
    "ws": r'(" " | "\n" [ \t]{0,20})?',
}
"""Any JSON value is `value`; no rule ends in white space."""

_DATE = '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])'
_CLOCK = '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})?'
_ZONE = '("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])'
_HEX = "[0-9a-fA-F]"
FORMATS = {
    "date": _DATE,
    "time": f"{_CLOCK} {_ZONE}",
    "date-time": f'{_DATE} "T" {_CLOCK} {_ZONE}',
    "uuid": f'{_HEX}{{8}} "-" ({_HEX}{{4}} "-"){{3}} {_HEX}{{12}}',
}
"""The formats that are enforced; JSON Schema takes all others for remarks."""


def literal(text: str) -> str:
    """A GBNF literal for `text`."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " else f"\\x{ord(c):02X}" for c in escaped) + '"'


def other_key(names: Iterable[str]) -> str:
    """An expression for the inside of a key that is none of `names`; needs the rule "char".

    Up to where it differs from every name a key has no escapes, which could spell a name too.
    """
    root: _Node = {}
    for name in names:
        node = root
        for char in name:
            node = node.setdefault(json.dumps(char, ensure_ascii=False)[1:-1], {})
        node[""] = {}
    return f"({_other(root)})"


_Node = dict[str, "_Node"]
"""The names' next characters as JSON writes them; "" where a name ends."""


def _other(node: _Node) -> str:
    excluded = "".join(f"\\U{ord(char):08X}" for char in node if len(char) == 1)
    parts = [rf'[^{excluded}"\\\x00-\x1F\x7F] char*']
    parts += [f"{literal(char)} ({_other(rest)})" for char, rest in node.items() if char]
    if "" not in node:
        parts.append('""')
    return " | ".join(parts)
