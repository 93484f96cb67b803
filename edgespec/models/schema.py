"""The keys of models.toml and what their values must be: data for `edgespec.models.tables`."""

import re
from collections.abc import Callable
from dataclasses import MISSING, fields

from edgespec.models.spec import SamplingAdvice, Shape

_MOST = 1000
"""Of what is gone through one by one: layers, parts."""
_END = 1 << 53
"""From here on a number is no longer exact as a float, and no size of anything."""

Expectation = Callable[[object], str]
"""Gives "" for a right value, else what it should have been."""


def is_text(value: object) -> str:
    """Expects a text that is not empty."""
    return "" if isinstance(value, str) and value else "a text"


def _is_texts(value: object) -> str:
    is_right = isinstance(value, list) and not any(is_text(item) for item in value)
    return "" if is_right else "a list of texts"


def _is_count(value: object) -> str:
    return "" if type(value) is int and 0 < value < _END else "a whole number above 0"


def _is_few(value: object) -> str:
    return (
        "" if type(value) is int and 0 < value <= _MOST else f"a whole number from 1 to {_MOST:,}"
    )


def _is_number(value: object) -> str:
    is_right = type(value) in (int, float) and -_END < value < _END  # type: ignore[operator]
    return "" if is_right else "a number"


def _is_whole(value: object) -> str:
    return "" if type(value) is int and 0 <= value < _END else "a whole number"


def _is_flag(value: object) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _is_range(value: object) -> str:
    if not isinstance(value, list) or len(value) != 2 or any(map(_is_number, value)):
        return "two numbers"
    return "" if value[0] <= value[1] else "two numbers, the smaller one first"


def is_table(value: object) -> str:
    """Expects a table."""
    return "" if isinstance(value, dict) else "a table"


def _is_tables(value: object) -> str:
    is_right = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return "" if is_right else "a list of tables"


def _matches(pattern: str, wanted: str) -> Expectation:
    def expectation(value: object) -> str:
        return "" if isinstance(value, str) and re.fullmatch(pattern, value) else wanted

    return expectation


PLAIN = (
    "title",
    "kind",
    "quant",
    "size_bytes",
    "about_bytes",
    "sha256",
    "licence",
    "vocab",
    "thinking",
    "method",
    "size_note",
)
LISTS = ("drafts", "unverified")
ADVICE = ("sampling", "sampling_no_think")
# Names become paths below our folders: no part may climb out of them.
_SAFE = r"(?!\.\.?(/|$))[^/\\:\0]+(/(?!\.\.?(/|$))[^/\\:\0]+)*"

ENTRY: dict[str, Expectation] = {
    "title": is_text,
    "kind": _matches("model|head", '"model" or "head"'),
    "repo": _matches(r"[^/\s]+/[^/\s]+", '"owner/name"'),
    "file": _matches(_SAFE, "a file name, or a path with '/' inside the repository"),
    "revision": _matches(_SAFE, "a branch, a tag or a commit"),
    "quant": is_text,
    "size_bytes": _is_count,
    "about_bytes": _is_count,
    "sha256": _matches("[0-9a-f]{64}", "64 digits of 0-9 and a-f"),
    "licence": is_text,
    "vocab": is_text,
    "shape": is_table,
    "thinking": _matches("none|hybrid|always", '"none", "hybrid" or "always"'),
    "sampling": is_table,
    "sampling_no_think": is_table,
    "drafts": _is_texts,
    "method": _matches("mtp|eagle3|dflash", '"mtp", "eagle3" or "dflash"'),
    "gains": _is_tables,
    "size_note": is_text,
    "unverified": _is_texts,
    "packages": _is_tables,
}
SHAPE_NEEDED = tuple(field.name for field in fields(Shape) if field.default is MISSING)
_FLAGS = {field.name for field in fields(Shape) if isinstance(field.default, bool)}
SHAPE: dict[str, Expectation] = {
    **{field.name: _is_whole for field in fields(Shape)},
    **dict.fromkeys(SHAPE_NEEDED, _is_count),
    **dict.fromkeys(_FLAGS, _is_flag),
    "n_layer": _is_few,
    "every": _is_count,
    "arch": is_text,
}
GAIN: dict[str, Expectation] = {"draft": is_text, "times": _is_range, "source": is_text}
SAMPLING = dict.fromkeys(SamplingAdvice.__dataclass_fields__, _is_number)
PACKAGE: dict[str, Expectation] = {
    "package": _matches(r"[A-Za-z0-9._{}-]+==[A-Za-z0-9._+!{}-]+", '"name==version"'),
    "parts": _is_few,
    "member": _matches(_SAFE, "a path inside the wheel"),
    "download_bytes": _is_count,
}
