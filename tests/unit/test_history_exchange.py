import json
from pathlib import Path
from typing import Any

import pytest

from edgespec.errors import HistoryError
from edgespec.history.exchange import as_json, as_markdown, from_json, write_new
from tests.chats import saved, turn


def test_json_loses_nothing() -> None:
    whole = saved(
        turn(
            "t1",
            "Hi\x00\u2028",
            "Hello 日本 🦙",
            stats={"accepted_at": [3]},
            settings={"seed": None},
        ),
        turn("t2", "Hi", "Other.", "", status="stopped", reasoning="hm", error="it broke"),
        head_id="t2",
        summary="s",
        window_id="t2",
    )

    assert from_json(as_json([whole, whole])) == (whole, whole)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": "other"}, '"format" is not "edgespec-chats"'),
        ({"version": 2}, "of version 2, and 1 is known here"),
        ({"chats": 3}, 'no list of "chats"'),
        ({"chats": [3]}, "chat 1 is no object"),
        ({"chats": [{"id": "a"}]}, 'chat 1 has no list of "turns"'),
        ({"chats": [{"turns": []}]}, 'chat 1 has no "id"'),
        ({"chats": [{"id": "a", "turns": [], "mood": 1}]}, 'unknown field "mood"'),
        ({"chats": [{"id": 1, "turns": []}]}, '"id" is no str'),
        ({"chats": [{"id": "a", "turns": [{"id": "t"}]}]}, 'turn 1 of chat 1 has no "chat_id"'),
    ],
)
def test_file_of_something_else_is_told(change: dict[str, Any], sentence: str) -> None:
    text = json.dumps({"format": "edgespec-chats", "version": 1, "chats": [], **change})

    with pytest.raises(HistoryError) as told:
        from_json(text)

    assert sentence in told.value.message


@pytest.mark.parametrize(("field", "value"), [("chat_id", "other"), ("status", "lost")])
def test_turn_that_does_not_belong_is_told(field: str, value: str) -> None:
    given = json.loads(as_json([saved(turn("t1"))]))
    given["chats"][0]["turns"][0][field] = value

    with pytest.raises(HistoryError, match="belongs to another chat or has no known status"):
        from_json(json.dumps(given))


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_text_that_is_no_export_is_told(text: str) -> None:
    with pytest.raises(HistoryError, match="this is no file of edgespec's chats"):
        from_json(text)


def test_markdown_has_the_shown_branch_with_reasoning_folded() -> None:
    whole = saved(
        turn("t1", "Which?", "First."),
        turn("t2", "Which?", "Second.", reasoning="Hm.\n", status="stopped"),
        turn("t3", "More", "", "t2", status="error", error="it broke"),
        head_id="t3",
        system="Be brief.",
        target="qwen3-14b",
        draft="qwen3-0.6b",
    )

    text = as_markdown(whole)

    assert "qwen3-14b + qwen3-0.6b" in text
    assert text.endswith(
        "## System\n\nBe brief.\n\n## You\n\nWhich?\n\n## Answer (stopped)\n\n"
        "<details><summary>Reasoning</summary>\n\nHm.\n\n</details>\n\nSecond.\n\n"
        "## You\n\nMore\n\n## Answer (stopped)\n\n> error: it broke\n"
    )


def test_path_of_a_file_whose_turns_form_a_circle_ends() -> None:
    whole = saved(turn("t1", parent_id="t2"), turn("t2", parent_id="t1"), head_id="t2")

    assert [t.id for t in whole.path()] == ["t1", "t2"]


def test_write_new_never_writes_over_a_file(tmp_path: Path) -> None:
    write_new(tmp_path / "a.md", "one")

    with pytest.raises(HistoryError, match="is there already"):
        write_new(tmp_path / "a.md", "two")
    with pytest.raises(HistoryError, match="cannot be written"):
        write_new(tmp_path / "none" / "a.md", "two")

    assert (tmp_path / "a.md").read_text() == "one"


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "1e999", "1e18", "-1", "true", "9" * 400])
@pytest.mark.parametrize("field", ["created_s", "updated_s"])
def test_time_that_no_clock_shows_is_told(field: str, seconds: str) -> None:
    chat, given = f'"id": "a", "{field}": {seconds}, "turns": []', '"format": "edgespec-chats"'

    with pytest.raises(HistoryError, match=f'"{field}" is no time in seconds since 1970'):
        from_json(f'{{{given}, "version": 1, "chats": [{{{chat}}}]}}')


def test_file_that_is_nested_too_deeply_is_told() -> None:
    given = json.loads(as_json([saved(turn("t1"))]))
    given["chats"][0]["settings"] = json.loads('{"a": ' + "[" * 200 + "]" * 200 + "}")

    with pytest.raises(HistoryError, match='"settings" is nested too deeply'):
        from_json(json.dumps(given))
    with pytest.raises(HistoryError, match="it is nested too deeply"):
        from_json("[" * 100_000)


def test_record_with_an_empty_id_is_told() -> None:
    given = as_json([saved(turn(""))])

    with pytest.raises(HistoryError, match="the id of turn 1 of chat 1 is empty"):
        from_json(given)


def test_write_new_leaves_no_half_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "chat.json"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(HistoryError, match="cannot be written"):
            write_new(path, "x" * (2 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert list(tmp_path.iterdir()) == []
