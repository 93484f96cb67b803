"""The prompts that come along, and a user's own."""

import json
from pathlib import Path

import pytest

from edgespec.bench.own_prompts import own_prompts
from edgespec.bench.suite import (
    KINDS,
    LANGUAGES,
    LENGTHS,
    NAMED_KINDS,
    documents_of,
    prompts,
)
from edgespec.errors import UsageError


def test_suite_has_every_kind_short_and_long_in_every_language() -> None:
    found = {(p.kind, p.length, p.lang) for p in prompts("full", LANGUAGES)}

    assert found == {(k, n, lang) for k in KINDS for n in ("short", "long") for lang in LANGUAGES}


def test_names_are_unique_and_english_ones_bare() -> None:
    everything = prompts("full", LANGUAGES)

    assert len({p.name for p in everything}) == len(everything)
    assert {"chat-short", "code-edit-long", "summary-short", "json-long"} <= {
        p.name for p in prompts("full")
    }
    assert all(p.name == f"{p.kind}-{p.length}" for p in prompts("full"))


def test_every_prompt_has_a_seed_of_its_own_and_a_length() -> None:
    everything = prompts("full", LANGUAGES)

    assert len({(p.kind, p.seed) for p in everything}) == len(everything)
    assert all(64 <= p.max_tokens <= 512 for p in everything)


def test_turns_alternate_and_end_with_the_user() -> None:
    for found in prompts("full", LANGUAGES):
        roles = [role for role, _ in found.turns if role != "system"]

        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        assert all(content and content == content.strip() for _, content in found.turns)


def test_some_prompts_have_several_turns_in_every_language() -> None:
    several = {p.lang for p in prompts("full", LANGUAGES) if len(p.turns) > 4}

    assert several == set(LANGUAGES)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_long_prompts_are_longer_than_short_ones(lang: str) -> None:
    sizes = {(p.kind, p.length): (p.n_bytes, p.max_tokens) for p in prompts("full", (lang,))}

    for kind in KINDS:
        assert sizes[kind, "long"][0] > 1.2 * sizes[kind, "short"][0]
        assert sizes[kind, "long"][1] > sizes[kind, "short"][1]


def test_prompts_are_in_their_language() -> None:
    for found in prompts("full", LANGUAGES):
        text = "".join(content for _, content in found.turns)
        n_han = sum("\u4e00" <= letter <= "\u9fff" for letter in text)

        assert (n_han > 40) == (found.lang == "zh"), found.name


def test_suite_may_be_kinds_and_one_length() -> None:
    assert [p.name for p in prompts("qa,chat,short")] == ["chat-short", "qa-short"]
    assert [p.name for p in prompts("json")] == ["json-short", "json-long"]


def test_unknown_suite_is_refused_with_the_names() -> None:
    with pytest.raises(UsageError, match="no suite 'poetry'") as refused:
        prompts("poetry")

    assert "creative" in refused.value.hint


def test_text_file_is_one_prompt(tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear all,\n", encoding="utf-8")

    (found,) = own_prompts(file)

    assert (found.name, found.kind, found.turns) == ("letter", "own", (("user", "Dear all,"),))


def test_json_lines_may_bring_messages_seed_and_length(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "Two?"},
    ]
    entries = [
        {"prompt": "Hi", "seed": 5, "max_tokens": 7},
        {"messages": messages, "name": "count"},
    ]
    file.write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")

    first, second = own_prompts(file)

    assert (first.name, first.seed, first.max_tokens, first.text) == ("mine-1", 5, 7, "Hi")
    assert second.name == "count"
    assert [role for role, _ in second.turns] == ["system", "user", "assistant", "user"]


def test_toml_file_is_read_as_the_built_in_ones(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[[prompt]]\ntext = "Hi"\nmax_tokens = 9\n', encoding="utf-8")

    (found,) = own_prompts(file)

    assert (found.text, found.max_tokens) == ("Hi", 9)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.txt", " \n", "holds no prompt"),
        ("a.jsonl", "{", "no prompts that can be read"),
        ("a.jsonl", '{"turns": ["one", "two"]}', "end with the user's"),
        ("a.json", '[{"messages": [{"role": "tool", "content": "x"}]}]', "a role is 'tool'"),
        ("a.toml", "[[prompt]]\nseed = 1", "'text'"),
        ("a.json", '{"prompt": ""}', "its last turn is empty"),
        ("a.json", '{"prompt": "Hi", "max_tokens": 0}', "max_tokens 0, which must be at least"),
        ("a.json", '{"prompt": "Hi", "seed": -1}', "seed is -1"),
    ],
)
def test_file_without_a_prompt_is_refused(
    tmp_path: Path, name: str, text: str, sentence: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=sentence):
        own_prompts(file)


def test_kinds_that_must_be_named_are_in_no_other_suite() -> None:
    apart = prompts(",".join(NAMED_KINDS))

    assert {(p.kind, p.length) for p in apart} == {(k, n) for k in NAMED_KINDS for n in LENGTHS}
    assert len({p.name for p in (*apart, *prompts("full"))}) == len(apart) + len(prompts("full"))
    assert not {p.kind for p in prompts("full", LANGUAGES)} & set(NAMED_KINDS)


def test_edits_of_indexed_files_bring_the_files_and_do_not_show_them() -> None:
    found = prompts("index-edit")
    documents = documents_of(found)

    assert len(documents) == len(found)
    for prompt in found:
        lines = {line for text in documents for line in text.splitlines() if len(line) > 20}
        shown = sum(line in prompt.text for line in lines)
        assert shown < 0.2 * len(lines)


def test_other_prompts_need_no_index() -> None:
    assert documents_of(prompts("full", LANGUAGES)) == ()
