import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.engine.grammar import Grammars
from edgespec.engine.json_schema import gbnf_of_schema
from edgespec.errors import UsageError
from tests.engine.grammar_walk import accepts, allowed_bytes, allows_end, native_vocab, tokens_of


@pytest.fixture(scope="module")
def grammars(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grammars]:
    with native_vocab(tmp_path_factory.mktemp("vocabulary")) as vocab:
        yield Grammars(vocab)


TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["kids"],
        }
    },
}
OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {}},
    "required": ["b"],
}
OPEN = {"properties": {"ab": {"type": "integer"}}, "additionalProperties": {"type": "string"}}
MERGED = {
    "allOf": [
        {"$ref": "#/$defs/x"},
        {"properties": {"y": {"type": "integer"}}, "required": ["y"]},
    ],
    "$defs": {"x": {"type": "object", "properties": {"x": {}}, "required": ["x"]}},
}
EITHER = {
    "properties": {"k": {"type": "string"}},
    "anyOf": [{"required": ["k"]}, {"properties": {"z": {"type": "null"}}, "required": ["z"]}],
}

CASES: list[tuple[Any, list[str], list[str]]] = [
    ({}, ["1", '"a"', '{"a": [1, {}],\n "b":null}', "[]", "-1.5e3"], ["", "{", "01", "tru", "1 "]),
    (True, ["null"], ["nul"]),
    ({"title": "T", "description": "D"}, ["[]"], [""]),
    ({"type": "boolean"}, ["true", "false"], ["null", '"true"']),
    ({"type": ["integer", "null"]}, ["1", "null"], ['"x"', "1.5"]),
    ({"type": "number", "minimum": 0, "maximum": 1}, ["0", "1", "0.5", "1.0"], ["1.1", "-0.1"]),
    ({"type": "number", "exclusiveMinimum": 0}, ["0.1", "5", "10.25"], ["0", "0.0", "-1"]),
    ({"type": "number", "maximum": -3}, ["-3", "-3.0", "-100.25"], ["-2", "0", "-2.9", "3"]),
    ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, ["2"], ["1"]),
    ({"minLength": 2, "maxLength": 3}, ['"ab"', '"é\\n"'], ['"a"', '"abcd"', '"a\n"', '"\\ud800"']),
    (
        {"type": "string", "minLength": 150, "maxLength": 450},
        [f'"{"a" * n}"' for n in (150, 249, 250, 449, 450)],
        [f'"{"a" * n}"' for n in (0, 149, 451)],
    ),
    ({"pattern": "^[A-Z]{2}-\\d+$"}, ['"AB-1"'], ['"A-1"', '"AB-"', '"AB-1x"']),
    ({"pattern": "x|y"}, ['"ax"', '"y"', '"\\"yb"'], ['"a"']),
    ({"pattern": "^(?:a|b\\.)+?$"}, ['"ab."'], ['""', '"b"']),
    ({"pattern": '^[ -~]*["\\\\]$'}, ['"a b\\""', '"\\\\"'], ['"a"', '"é\\""']),
    ({"pattern": "^[^\\d]\\W.$"}, ['"a-é"'], ['"1-a"', '"aba"']),
    ({"format": "date"}, ['"2024-02-28"'], ['"2024-13-01"', '"24-01-01"']),
    ({"format": "date-time"}, ['"2024-02-28T10:00:00Z"'], ['"2024-02-28"']),
    ({"format": "uuid"}, ['"123e4567-e89b-12d3-a456-426614174000"'], ['"123"']),
    ({"format": "email"}, ['"anything"'], ["1"]),
    (OBJECT, ['{"b": "x"}', '{"a":1,"b":"x"}', '{"b":"","c":[]}'], ["{}", '{"a":1}', '{"b":"",}']),
    ({"properties": {"a": {}, "b": {}}}, ["{}", '{"b":1}', '{"a":1,"b":2}'], ['{"b":1,"a":2}']),
    ({"type": "object", "additionalProperties": False}, ["{}", "{ }"], ['{"a":1}']),
    ({"type": "object", "required": ["a"]}, ['{"a":[1]}'], ["{}"]),
    (OPEN, ["{}", '{"a":"x"}', '{"ab":1,"abc":"","":"z"}'], ['{"ab":"x"}', '{"\\u0061b":"x"}']),
    ({"additionalProperties": {"type": "integer"}}, ["{}", '{"a":1,"b":2}'], ['{"a":"x"}']),
    ({"items": {"type": "integer"}}, ["[]", "[1,2, 3]"], ['["a"]', "[1,]"]),
    ({"minItems": 1, "maxItems": 2}, ["[1]", "[1,2]"], ["[]", "[1,2,3]"]),
    ({"type": "array", "maxItems": 0}, ["[]", "[ ]"], ["[1]"]),
    ({"prefixItems": [{"type": "integer"}, {}]}, ['[1,"a"]'], ["[1]", "[1,2,3]"]),
    (
        {"items": [{"type": "integer"}], "additionalItems": {"type": "null"}},
        ["[1,null]"],
        ["[1,2]"],
    ),
    ({"enum": ["red", 1, None, {"a": 1}]}, ['"red"', "1", "null", '{"a": 1}'], ["2", '"re"']),
    ({"const": 'a"b\n'}, ['"a\\"b\\n"'], ['"a"']),
    ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, ['"x"', "null"], ["1"]),
    (TREE, ['{"kids":[]}', '{"kids":[{"kids":[]},{"kids":[]}]}'], ['{"kids":[1]}']),
    (MERGED, ['{"x":1,"y":2}'], ['{"x":1}', '{"x":1,"y":"2"}']),
    (EITHER, ['{"k":"a"}', '{"z":null}'], ["{}"]),
]


@pytest.mark.parametrize(("schema", "good", "bad"), CASES)
def test_schema_takes_what_fits_and_nothing_else(
    grammars: Grammars, schema: Any, good: list[str], bad: list[str]
) -> None:
    gbnf = gbnf_of_schema(json.dumps(schema))

    refused = [text for text in good if not accepts(grammars, gbnf, text)]
    taken = [text for text in bad if accepts(grammars, gbnf, text)]

    assert (refused, taken) == ([], [])


bounds = st.one_of(st.none(), st.integers(-1200, 1200))


@settings(max_examples=150, deadline=None)
@given(low=bounds, high=bounds, value=st.integers(-2000, 2000))
def test_integer_bounds_are_exact(
    grammars: Grammars, low: int | None, high: int | None, value: int
) -> None:
    if low is not None and high is not None and low > high:
        low, high = high, low
    schema = {"type": "integer", "minimum": low, "maximum": high}
    gbnf = gbnf_of_schema(json.dumps({k: v for k, v in schema.items() if v is not None}))

    is_taken = accepts(grammars, gbnf, str(value))

    assert is_taken == ((low is None or low <= value) and (high is None or value <= high))


@settings(max_examples=150, deadline=None)
@given(
    low=st.integers(-30, 30),
    size=st.integers(0, 30),
    excluded=st.tuples(st.booleans(), st.booleans()),
    tenths=st.integers(-650, 650),
)
def test_number_bounds_are_exact(
    grammars: Grammars, low: int, size: int, excluded: tuple[bool, bool], tenths: int
) -> None:
    high = low + size + any(excluded)
    names = [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")]
    schema = {"type": "number", names[0][excluded[0]]: low, names[1][excluded[1]]: high}
    gbnf = gbnf_of_schema(json.dumps(schema))
    value = tenths / 10

    is_taken = accepts(grammars, gbnf, str(value))

    is_above = value > low if excluded[0] else value >= low
    is_below = value < high if excluded[1] else value <= high
    assert is_taken == (is_above and is_below)


@pytest.mark.parametrize("seed", range(10))
def test_whatever_the_grammar_says_is_json_that_fits(grammars: Grammars, seed: int) -> None:
    chance = random.Random(seed)
    state = grammars.start(gbnf_of_schema(json.dumps(OBJECT)))
    written = bytearray()

    while not (allows_end(state) and chance.random() < 0.3):
        if not (bytes_ := allowed_bytes(state)):
            break
        likely = [byte for byte in bytes_ if byte in b'"{}[]:,019ab'] or list(bytes_)
        byte = chance.choice(likely)
        written.append(byte)
        state = state.advanced(tokens_of("\0")[0] + byte)

    value = json.loads(written)
    assert isinstance(value["b"], str)
    assert isinstance(value.get("a", 0), int)
    assert set(value) <= {"a", "b", "c"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "type":\n}', "is no JSON at line 3, column 1"),
        ("[" * 100_000, "nested too deeply"),
        ('{"minimum": NaN}', "NaN is no JSON"),
        ("[]", "at #: a schema is an object"),
        ("false", "at #: nothing fits"),
        ('{"type": "strng"}', "at #: \"type\" is 'strng', but must be one of object, array"),
        ('{"properties": {"a": {"uniqueItems": true}}}', 'at #/properties/a: "uniqueItems" cannot'),
        ('{"items": {"not": {}}}', 'at #/items: "not" cannot be enforced'),
        ('{"pattern": "(?=x)"}', '"pattern" has "(?=x"'),
        ('{"pattern": "a", "minLength": 2}', "cannot be enforced"),
        ('{"$ref": "#/$defs/x"}', "which is not in this schema"),
        ('{"$ref": "other.json"}', "only parts of this schema"),
        ('{"$ref": "#"}', "begins with itself"),
        ('{"enum": []}', '"enum" is empty'),
        ('{"anyOf": []}', '"anyOf" is empty'),
        ('{"minLength": true}', '"minLength" cannot be True'),
        ('{"required": [1]}', "takes names only"),
        ('{"type": "number", "minimum": 0.5}', "bound 0.5 of a number is no whole number"),
        ('{"type": "integer", "minimum": 5, "maximum": 4}', "no number fits its bounds"),
        ('{"minItems": 3, "maxItems": 2}', "are a contradiction"),
        ('{"minLength": 3, "maxLength": 2}', "are a contradiction"),
        ('{"allOf": [{"type": "string"}, {"type": "null"}]}', "at once"),
    ],
)
def test_schema_that_cannot_be_had_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        gbnf_of_schema(text)

    assert message in str(caught.value)


def test_refused_keyword_comes_with_a_way_out() -> None:
    with pytest.raises(UsageError) as caught:
        gbnf_of_schema('{"multipleOf": 3}')

    assert caught.value.hint == 'leave "multipleOf" out and check the answer afterwards'


def test_nested_schema_grows_linearly() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    sizes = []
    for _ in range(12):
        schema = {"properties": {"a": {"items": schema, "minItems": 1}, "b": {}}, "required": ["b"]}
        sizes.append(len(gbnf_of_schema(json.dumps(schema))))

    steps = np.diff(sizes)
    assert steps.max() < 2 * steps.min()
