"""A JSON schema as a GBNF grammar: every text of the grammar is JSON that fits the schema.

What a grammar cannot hold is refused, not ignored, with its place in the schema. Objects are
closed unless `additionalProperties` opens them, and keep the schema's order of properties.
"""

import json
from collections.abc import Mapping
from typing import Any

from edgespec.engine.gbnf import check_gbnf
from edgespec.engine.json_number import Bounds, integer_between, number_between
from edgespec.engine.json_pattern import pattern
from edgespec.engine.json_schema_parts import Schema, Wrong, check_keywords, merged, types_of
from edgespec.engine.json_text import FORMATS, RULES, literal, other_key
from edgespec.errors import UsageError

_CHUNK = 100
"""Long repetitions are made of chunks: a rule per repetition would slow every token down."""
_LONGEST = 100_000
"""Longer than an answer gets: a larger maximum is no limit."""


def gbnf_of_schema(schema: str | Mapping[str, Any]) -> str:
    """The grammar of the JSON texts that fit a schema, given as text or as what the text says.

    Raises: `UsageError` naming the line (no JSON) or the place (no schema, or not to be had).
    """
    try:
        text = schema if isinstance(schema, str) else json.dumps(dict(schema))
        return _Converter(json.loads(text, parse_constant=_no_number)).grammar()
    except json.JSONDecodeError as error:
        raise UsageError(
            f"the JSON schema is no JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except TypeError as error:  # of `dumps`
        raise UsageError(f"the JSON schema is no JSON: {error}") from error
    except RecursionError as error:
        raise UsageError("the JSON schema is nested too deeply") from error
    except Wrong as error:
        raise UsageError(
            f"the JSON schema cannot be used, at {error.place}: {error.what}", hint=error.hint
        ) from error


def _no_number(name: str) -> None:
    raise Wrong("#", f"{name} is no JSON")


class _Converter:
    """Turns one schema document into rules; `visit` gives an expression for a subschema."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._rules: dict[str, str] = {}
        self._refs: dict[str, str] = {}
        self._n_names = 0

    def grammar(self) -> str:
        self._rules["root"] = self.visit(self._document, "#")
        text = "\n".join(f"{name} ::= {body}" for name, body in (self._rules | RULES).items())
        try:
            check_gbnf(text)
        except UsageError as error:
            raise Wrong("#", f"it needs a grammar that cannot be had ({error})") from error
        return text

    def visit(self, schema: Any, place: str) -> str:
        """An expression for the values that fit; one item or parenthesised."""
        if schema is True or schema == {}:
            return "value"
        if not isinstance(schema, dict):
            raise Wrong(place, "nothing fits" if schema is False else "a schema is an object")
        check_keywords(schema, place)
        if "$ref" in schema:
            return self._reference(schema, place)
        for key in ("allOf", "anyOf", "oneOf"):
            if key in schema:
                return self._combined(schema, key, place)
        if "const" in schema:
            return _literals([schema["const"]])
        if "enum" in schema:
            return _literals(schema["enum"])
        parts = [self._typed(name, schema, place) for name in types_of(schema, place)]
        return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"

    def _reference(self, schema: Schema, place: str) -> str:
        ref = schema["$ref"]
        others = {key: value for key, value in schema.items() if key != "$ref"}
        if merged([others], place):
            return self.visit({"allOf": [{"$ref": ref}, others]}, place)
        if ref not in self._refs:
            self._refs[ref] = self._new_name("ref")
            self._rules[self._refs[ref]] = self.visit(self._target(ref, place), str(ref))
        return self._refs[ref]

    def _target(self, ref: Any, place: str) -> Any:
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise Wrong(place, f'"$ref" is {ref!r}, but only parts of this schema can be used')
        target = self._document
        for step in ref.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            try:
                target = target[int(key)] if isinstance(target, list) else target[key]
            except (KeyError, IndexError, ValueError, TypeError):
                raise Wrong(place, f'"$ref" is "{ref}", which is not in this schema') from None
        return target

    def _resolved(self, schema: Any, place: str) -> Any:
        """The schema behind references, for merging."""
        seen: set[str] = set()
        while isinstance(schema, dict) and "$ref" in schema:
            ref = schema["$ref"]
            if ref in seen:
                raise Wrong(place, f'"$ref" is "{ref}", which leads back to itself')
            target = self._target(ref, place)
            seen.add(ref)
            others = {key: value for key, value in schema.items() if key != "$ref"}
            schema = merged([target, others], place) if merged([others], place) else target
        return schema

    def _combined(self, schema: Schema, key: str, place: str) -> str:
        others = {name: value for name, value in schema.items() if name != key}
        subschemas = schema[key]
        if not subschemas:
            raise Wrong(place, f'"{key}" is empty')
        places = [f"{place}/{key}/{i}" for i in range(len(subschemas))]
        if not merged([others], place) and (key != "allOf" or len(subschemas) == 1):
            parts = [self.visit(*each) for each in zip(subschemas, places, strict=True)]
            return f"({' | '.join(parts)})"
        found = [self._resolved(*each) for each in zip(subschemas, places, strict=True)]
        if key == "allOf":
            return self.visit(merged([others, *found], place), place)
        each_with_others = (merged([others, one], place) for one in found)
        return f"({' | '.join(self.visit(one, place) for one in each_with_others)})"

    def _typed(self, name: str, schema: Schema, place: str) -> str:
        if name == "object":
            return self._object(schema, place)
        if name == "array":
            return self._array(schema, place)
        if name == "string":
            return self._string(schema, place)
        if name in ("integer", "number"):
            return self._number(name, schema, place)
        return name  # "boolean" and "null" are rules

    def _number(self, name: str, schema: Schema, place: str) -> str:
        low, high = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        if low is high is above is below is None:
            return name
        # Draft 4 has exclusiveMinimum: true beside minimum.
        excludes_low = above is True or (
            type(above) in (int, float) and (low is None or above >= low)
        )
        excludes_high = below is True or (
            type(below) in (int, float) and (high is None or below <= high)
        )
        bounds = Bounds(
            above if excludes_low and above is not True else low,
            below if excludes_high and below is not True else high,
            excludes_low,
            excludes_high,
        )
        for bound in (bounds.low, bounds.high):
            if name == "number" and bound is not None and bound != int(bound):
                raise Wrong(place, f"the bound {bound} of a number is no whole number")
        body = (integer_between if name == "integer" else number_between)(bounds)
        if not body:
            raise Wrong(place, "no number fits its bounds")
        return f"({body})"

    def _string(self, schema: Schema, place: str) -> str:
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        if "pattern" in schema:
            if least or most is not None:
                raise Wrong(place, '"pattern" and a length together cannot be enforced')
            try:
                return rf'("\"" {pattern(schema["pattern"])} "\"")'
            except ValueError as error:
                raise Wrong(place, f'"pattern" has {error}, which cannot be enforced') from error
        if schema.get("format") in FORMATS:
            return rf'("\"" {FORMATS[schema["format"]]} "\"")'
        if not least and most is None:
            return "string"
        if most is not None and most < least:
            raise Wrong(place, f'"minLength" {least} and "maxLength" {most} are a contradiction')
        return rf'("\"" {self._counted("char", least, most)} "\"")'

    def _array(self, schema: Schema, place: str) -> str:
        items, first = schema.get("items", True), schema.get("prefixItems", [])
        if isinstance(items, list):  # before draft 2020
            first, items = items, schema.get("additionalItems", False)
        elif first and "items" not in schema:
            items = False
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if most is not None and most < least:
            raise Wrong(place, f'"minItems" {least} and "maxItems" {most} are a contradiction')
        parts = [self.visit(one, f"{place}/prefixItems/{i}") for i, one in enumerate(first)]
        parts = parts[:most]
        is_optional = not least and not parts
        if items is False or most == len(parts):
            if least > len(parts):
                raise Wrong(place, f'"minItems" is {least}, but only {len(parts)} are described')
        else:
            item = self._named("item", self.visit(items, f"{place}/items"))
            if not parts:
                parts, least = [item], max(least, 1)
            more = self._named("more", f'"," ws {item}')
            n_more = None if most is None else most - len(parts)
            parts[-1] += " " + self._counted(more, max(least - len(parts), 0), n_more)
        if not parts:
            return '("[" ws "]")'
        filled = f"{_COMMA.join(parts)} ws"
        return f'("[" ws ({filled})? "]")' if is_optional else f'("[" ws {filled} "]")'

    def _object(self, schema: Schema, place: str) -> str:
        others = schema.get("additionalProperties")
        properties = dict(schema.get("properties", {}))
        required = schema.get("required", [])
        for name in required:
            properties.setdefault(name, True if others in (None, False) else others)
        if not properties and others in (None, True):
            return "object"
        members = [self._member(name, one, place) for name, one in properties.items()]
        # tails[i]: what may follow once some member has been written and those before i are done.
        tails, other = ['""'], ""
        if others not in (None, False):
            value = self.visit(others, f"{place}/additionalProperties")
            other = self._named("other", rf'"\"" {other_key(properties)} "\":" ws {value}')
            tails = [self._named("others", f'("," ws {other})*')]
        for name, member in reversed([*zip(properties, members, strict=True)]):
            mark = "" if name in required else "?"
            tails.insert(0, self._named("tail", f'("," ws {member}){mark} {tails[0]}'))
        if not tails[1:] and not other:
            return '("{" ws "}")'
        firsts = []
        for name, member, tail in zip(properties, members, tails[1:], strict=True):
            firsts.append(f"{member} {tail}")
            if name in required:
                return f'("{{" ws ({" | ".join(firsts)}) ws "}}")'
        firsts += [f"{other} {tails[-1]}"] if other else []
        return f'("{{" ws (({" | ".join(firsts)}) ws)? "}}")'

    def _member(self, name: str, schema: Any, place: str) -> str:
        key = literal(json.dumps(name, ensure_ascii=False) + ":")
        return self._named("member", f"{key} ws {self.visit(schema, f'{place}/properties/{name}')}")

    def _counted(self, item: str, least: int, most: int | None) -> str:
        """`item`, a rule's name, `least` to `most` times; llama.cpp counts up to 2,000."""
        if most is None or most > _LONGEST:
            return f"{self._exactly(item, least)} {item}*"
        n_optional = most - least
        if n_optional < _CHUNK:
            return f"{self._exactly(item, least)} {item}{{0,{n_optional}}}"
        chunk = self._named("chunk", f"{item}{{{_CHUNK}}}")
        n_chunks, rest = divmod(n_optional, _CHUNK)
        return (
            f"{self._exactly(item, least)} ({chunk}{{0,{n_chunks - 1}}} {item}{{0,{_CHUNK - 1}}}"
            f" | {chunk}{{{n_chunks}}} {item}{{0,{rest}}})"
        )

    def _exactly(self, item: str, n: int) -> str:
        if n < _CHUNK:
            return f"{item}{{{n}}}" if n else '""'
        chunk = self._named("chunk", f"{item}{{{_CHUNK}}}")
        return f"{chunk}{{{n // _CHUNK}}} {self._exactly(item, n % _CHUNK)}"

    def _named(self, kind: str, body: str) -> str:
        name = self._new_name(kind)
        self._rules[name] = body
        return name

    def _new_name(self, kind: str) -> str:
        self._n_names += 1
        return f"{kind}-{self._n_names}"


def _literals(values: list[Any]) -> str:
    texts = (literal(json.dumps(value, ensure_ascii=False)) for value in values)
    return f"({' | '.join(texts)})"


_COMMA = ' "," ws '
