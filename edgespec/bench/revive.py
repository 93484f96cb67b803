"""Frozen dataclasses to plain JSON and back, by their annotations."""

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin

T = TypeVar("T")


def plain(value: Any, *, leave_out: frozenset[str] = frozenset()) -> Any:
    """`value` as JSON can hold it: dataclasses as objects, infinite and missing numbers as null.

    Fields named in `leave_out` do not go out, wherever they occur.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name), leave_out=leave_out)
            for field in fields(value)
            if field.name not in leave_out
        }
    if isinstance(value, Mapping):
        return {str(key): plain(item, leave_out=leave_out) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, leave_out=leave_out) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def revive(kind: type[T], data: Mapping[str, Any]) -> T:
    """A dataclass from what `plain` made of it; names that it does not know are passed over.

    Raises: `KeyError`, `TypeError`, `ValueError` when `data` is something else.
    """
    hints = typing.get_type_hints(kind)
    known = {
        field.name: _value(hints[field.name], data[field.name])
        for field in fields(kind)  # type: ignore[arg-type]
        if field.name in data
    }
    return kind(**known)


def _value(hint: Any, data: Any) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (hint,) = [each for each in inner if each is not type(None)]
        return None if data is None else _value(hint, data)
    if origin is tuple:
        _check(data, list)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_value(inner[0], item) for item in data)
        return tuple(_value(each, item) for each, item in zip(inner, data, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _value(inner[1], item) for key, item in data.items()}
    if is_dataclass(hint) and isinstance(hint, type):
        return revive(hint, data)
    if hint is float:
        return math.nan if data is None else float(data)
    if hint in (bool, int, str):
        _check(data, hint)
    return data


def _check(data: Any, kind: type) -> None:
    if type(data) is not kind:
        raise TypeError(f"{data!r:.40} where a value of type {kind.__name__} belongs")
