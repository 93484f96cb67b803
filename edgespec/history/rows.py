"""Records as rows of the tables, and back: what is no column of its own is JSON in one."""

import json
from dataclasses import fields
from typing import Any, TypeVar

from edgespec.history.records import ChatRecord, TurnRecord
from edgespec.text.turns import encodable

CHAT = tuple(f.name for f in fields(ChatRecord))
TURN = tuple(f.name for f in fields(TurnRecord))
_AS_JSON = ("settings", "stats")

R = TypeVar("R", ChatRecord, TurnRecord)


def upsert(table: str, names: tuple[str, ...], kept: tuple[str, ...] = ()) -> str:
    """Insert, or change all but what is `kept` of the row that is there."""
    marks = ", ".join("?" for _ in names)
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in ("id", *kept))
    return (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) "
        f"ON CONFLICT (id) DO UPDATE SET {changes}"
    )


def row_of(record: ChatRecord | TurnRecord) -> tuple[Any, ...]:
    """The record's values, in the order of its fields."""
    values = ((f.name, getattr(record, f.name)) for f in fields(record))
    return tuple(
        encodable(json.dumps(value, ensure_ascii=False))
        if name in _AS_JSON
        else encodable(value)
        if isinstance(value, str)
        else value
        for name, value in values
    )


def record_of(kind: type[R], names: tuple[str, ...], row: tuple[Any, ...]) -> R:
    """The record of a row with columns `names`."""
    values = dict(zip(names, row, strict=True))
    for name in _AS_JSON:
        if name in values:
            values[name] = _figures(values[name])
    return kind(**values)


def _figures(text: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    return said if isinstance(said, dict) else {}  # damaged: the texts are worth more
