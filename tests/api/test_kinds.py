"""Values of the wrong kind, as they come from a settings file, a form or another library's habits:
each is refused in words, by name, before anything is done with it."""

from pathlib import Path
from typing import Any

import pytest

import edgespec
from edgespec.api.model import LoadedModel, load
from edgespec.errors import UsageError
from tests.api.answers import options


@pytest.mark.parametrize(
    ("loading", "message"),
    [
        ({"n_ctx": "2048"}, "n_ctx is '2048', but must be a whole number"),
        ({"n_ctx": 2048.0}, "n_ctx is 2048.0, but must be a whole number"),
        ({"n_threads": "2"}, "n_threads is '2', but must be a whole number"),
        ({"n_gpu_layers": "all"}, "n_gpu_layers is 'all', but must be a whole number"),
        ({"memory_bytes": "4G"}, "memory_bytes is '4G', but must be a number"),
        ({"draft": True}, "draft is True, but must be a name or a path"),
        ({"drafter": 3}, "drafter is 3, but must be a text"),
        ({"index": ["a"]}, r"index is \['a'\], but must be a text"),
        ({"template": 3}, "template is 3, but must be a text"),
        ({"template": "{% if"}, "the given chat template"),
        ({"template": " "}, "the given chat template is empty"),
        ({"rpc": ["desk:1"]}, r"rpc is \['desk:1'\], but must be a text"),
        ({"progress": 3}, "progress is 3, but must be a function"),
    ],
)
def test_loading_value_of_another_kind_is_refused_by_name(
    files: dict[str, Path], loading: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        load(files["llama"], **loading)


@pytest.mark.parametrize("target", [None, 3, b"tiny.gguf"])
def test_target_of_another_kind_is_refused(target: Any) -> None:
    with pytest.raises(UsageError, match=r"target is .*, but must be a name or a path"):
        load(target)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"max_tokens": 5}, "options is of type dict, not edgespec.Options"),
        (None, "options is of type NoneType, not edgespec.Options"),
        (edgespec.Sampling(), "options is of type Sampling, not edgespec.Options"),
    ],
)
def test_options_of_another_kind_are_refused(model: LoadedModel, chosen: Any, message: str) -> None:
    for ask in (model.complete, model.chat, model.count):
        with pytest.raises(UsageError, match=message):
            ask("Hello", chosen)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"sampling": {"temperature": 1}}, "sampling is {.*}, but must be an edgespec.Sampling"),
        ({"sampling": None}, "sampling is None, but must be an edgespec.Sampling"),
        ({"grammar": 3}, "grammar is 3, but must be a text"),
        ({"drafter": 3}, "drafter is 3, but must be a text"),
        ({"json_schema": True}, "json_schema is True, but must be a text or a dict"),
        ({"json_schema": {"type": {1, 2}}}, "the JSON schema is no JSON: .* set"),
    ],
)
def test_option_of_another_kind_is_refused_by_name(
    model: LoadedModel, chosen: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        model.chat("Hello", edgespec.Options(**chosen))


def test_schema_may_be_a_dict_as_other_libraries_make_them(model: LoadedModel) -> None:
    schema = {"type": "object", "properties": {"n": {"enum": [1, 22]}}, "required": ["n"]}

    reply = model.complete("Hello", edgespec.Options(json_schema=schema, max_tokens=60))

    assert reply.text.replace(" ", "").replace("\n", "") in ('{"n":1}', '{"n":22}')


def test_text_that_is_none_is_not_tokenised(model: LoadedModel) -> None:
    with pytest.raises(UsageError, match="text is 3, but must be a text"):
        model.tokenize(3)  # type: ignore[arg-type]


def test_unknown_way_of_drafting_is_refused(model: LoadedModel) -> None:
    stream = model.chat("Hello", options(2))

    with pytest.raises(UsageError, match="'sometimes' is no way of drafting"):
        stream.draft("sometimes")  # type: ignore[arg-type]

    assert list(stream)[-1].kind == "done"
