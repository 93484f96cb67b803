"""What a schema's keywords are: which are known, which refused, and how two schemas become one.

Knows JSON Schema, no grammar.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")

_SHAPES: Mapping[str, tuple[type, ...]] = {
    "$ref": (str,),
    "type": (str, list),
    "enum": (list,),
    "const": (object,),
    "allOf": (list,),
    "anyOf": (list,),
    "oneOf": (list,),
    "properties": (dict,),
    "required": (list,),
    "additionalProperties": (bool, dict),
    "items": (bool, dict, list),
    "prefixItems": (list,),
    "additionalItems": (bool, dict),
    "minItems": (int,),
    "maxItems": (int,),
    "minLength": (int,),
    "maxLength": (int,),
    "pattern": (str,),
    "format": (str,),
    "minimum": (int, float),
    "maximum": (int, float),
    "exclusiveMinimum": (int, float, bool),
    "exclusiveMaximum": (int, float, bool),
}
"""The keywords that are enforced, with the Python types of their values."""

_HARMLESS: Mapping[str, Sequence[Any]] = {
    "not": (False,),
    "if": (),
    "then": (),
    "else": (),
    "dependencies": ({},),
    "dependentRequired": ({},),
    "dependentSchemas": ({},),
    "patternProperties": ({},),
    "propertyNames": (True, {}),
    "minProperties": (0,),
    "maxProperties": (),
    "contains": (),
    "uniqueItems": (False,),
    "multipleOf": (),
    "unevaluatedItems": (False,),
    "unevaluatedProperties": (False,),
    "$dynamicRef": (),
    "$recursiveRef": (),
}
"""The keywords that no grammar holds, with the values that ask for nothing."""

_TYPE_OF_KEYWORD = (
    ("object", ("properties", "required", "additionalProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems")),
    ("string", ("pattern", "format", "minLength", "maxLength")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
)


class Wrong(Exception):
    """The schema cannot be used, at this place."""

    def __init__(self, place: str, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.place = place
        self.what = what
        self.hint = hint


def check_keywords(schema: Schema, place: str) -> None:
    """Refuse malformed values and what would have to be ignored. Raises: `Wrong`."""
    for key, value in schema.items():
        if key in _HARMLESS and value not in _HARMLESS[key]:
            raise Wrong(
                place,
                f'"{key}" cannot be enforced by a grammar',
                hint=f'leave "{key}" out and check the answer afterwards',
            )
        shapes = _SHAPES.get(key, (object,))
        if not isinstance(value, shapes) or (
            value is True and bool not in shapes and int in shapes
        ):
            raise Wrong(place, f'"{key}" cannot be {value!r}')
    if not all(isinstance(name, str) for name in schema.get("required", ())):
        raise Wrong(place, f'"required" has {schema["required"]!r}, but takes names only')
    if schema.get("enum") == []:
        raise Wrong(place, '"enum" is empty')


def types_of(schema: Schema, place: str) -> tuple[str, ...]:
    """The types that a schema without alternatives allows; "value" for any."""
    if "type" in schema:
        named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        for name in named:
            if name not in TYPES:
                raise Wrong(place, f'"type" is {name!r}, but must be one of {", ".join(TYPES)}')
        if not named:
            raise Wrong(place, '"type" names no type')
        return tuple(named)
    for name, keywords in _TYPE_OF_KEYWORD:
        if any(key in schema for key in keywords):
            return (name,)
    return ("value",)


def merged(schemas: Iterable[Any], place: str) -> Schema:
    """One schema that asks for what all ask for, without their remarks; empty: nothing."""
    result: Schema = {}
    for schema in schemas:
        if schema is True:
            continue
        if not isinstance(schema, dict):
            raise Wrong(place, "nothing fits" if schema is False else "a schema is an object")
        check_keywords(schema, place)
        for key, value in schema.items():
            if key in _SHAPES:
                result[key] = _both(key, result[key], value, place) if key in result else value
    return result


def _both(key: str, one: Any, other: Any, place: str) -> Any:
    if one == other:
        return one
    if key == "properties":
        shared = {name: {"allOf": [one[name], other[name]]} for name in one if name in other}
        return one | other | shared
    if key == "required":
        return [*one, *(name for name in other if name not in one)]
    if key in ("minimum", "exclusiveMinimum", "minLength", "minItems"):
        return max(one, other)
    if key in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
        return min(one, other)
    if key in ("type", "enum"):
        first, second = (value if isinstance(value, list) else [value] for value in (one, other))
        both = [value for value in first if value in second]
        if both:
            return both
    raise Wrong(place, f'"{key}" has to be {one!r} and {other!r} at once')
