"""Titles, deletion, search, export and privacy of kept chats."""

from pathlib import Path

import pytest

from edgespec.chat.controller import ChatController
from edgespec.errors import HistoryError
from edgespec.history.exchange import from_json
from tests.unit.kept_chats import PATIENCE_S, Start, followed


def test_private_chat_leaves_nothing_and_can_be_saved_after_all(start: Start) -> None:
    chat, model = start("One.")
    chat.clear(is_private=True)
    chat.send("secret")
    followed(chat)
    listed = chat.chats.all()
    assert not model.requests[0].options.learn

    said = chat.chats.save()

    assert (listed, chat.conversation.is_private) == ([], False)
    assert said == f"saved: edgespec chat --resume {chat.conversation.id}"
    assert [t.text for t in start.held(chat)] == ["One."]


def test_chat_without_a_journal_is_private_and_says_so() -> None:
    chat = ChatController()

    assert chat.chats.state.word == "PRIVATE"
    with pytest.raises(HistoryError, match="keeps no history"):
        chat.chats.save()


def test_empty_chat_is_not_kept(start: Start) -> None:
    chat, _ = start()

    chat.chats.keep()
    chat.clear()

    assert chat.chats.all() == []


def test_title_is_the_first_message_until_one_is_given(start: Start) -> None:
    chat, _ = start()
    chat.send("What is\n a draft? " + "x" * 80)
    followed(chat)
    first = chat.chats.all()[0].title

    chat.chats.rename("Drafts")

    assert first == "What is a draft? " + "x" * 42 + "…"
    assert [c.title for c in chat.chats.all("drafts")] == ["Drafts"]


def test_title_that_another_process_gave_stays(start: Start) -> None:
    chat, _ = start()
    chat.send("Hi")
    list(chat.follow())
    start.held(chat)
    start.library.rename(chat.conversation.id, "Given elsewhere")

    chat.send("And more")
    list(chat.follow())
    start.held(chat)

    assert [c.title for c in chat.chats.all()] == ["Given elsewhere"]


def test_title_given_here_last_is_the_one_that_stays(start: Start) -> None:
    chat, _ = start()
    chat.send("Hi")
    list(chat.follow())
    start.held(chat)
    start.library.rename(chat.conversation.id, "Given elsewhere")

    chat.chats.rename("Given here")
    start.held(chat)

    assert [c.title for c in chat.chats.all()] == ["Given here"]


def test_what_is_typed_in_a_private_chat_is_not_kept(start: Start, path: Path) -> None:
    chat, _ = start()
    chat.chats.jot("half a mess")
    chat.clear(is_private=True)

    chat.chats.jot("half a secret")
    chat.close()

    assert not list(path.parent.glob("unsent-*"))


def test_title_of_another_chat_is_changed_in_the_file(start: Start) -> None:
    chat, _ = start()
    chat.send("one")
    followed(chat)
    old = chat.conversation.id
    chat.chats.journal.flush(PATIENCE_S)
    chat.clear()

    chat.chats.rename("Old one", old)

    assert chat.chats.all()[0].title == "Old one"


def test_deleted_chat_makes_room_for_a_new_one_and_can_come_back(start: Start) -> None:
    chat, _ = start("One.", "Two.")
    chat.send("a")
    followed(chat)
    gone = chat.conversation.id

    chat.chats.delete(gone)
    chat.send("b")
    followed(chat)
    left = [c.title for c in chat.chats.all()]
    chat.chats.undelete()

    assert left == ["b"]
    assert {c.id for c in chat.chats.all()} == {gone, chat.conversation.id}
    assert chat.chats.undelete() is None


def test_hit_opens_the_branch_where_it_stands(start: Start) -> None:
    chat, _ = start("the zebra", "the lion")
    chat.send("Which?")
    followed(chat)
    chat.regenerate()
    followed(chat)
    (hit,) = chat.chats.search("zebra")

    chat.chats.open_turn(hit)

    assert [turn.text for turn in chat.turns] == ["the zebra"]


def test_export_is_a_file_that_can_be_read_back(start: Start, tmp_path: Path) -> None:
    chat, _ = start("One.", "Two.")
    chat.send("a")
    followed(chat)
    chat.regenerate()
    followed(chat)

    path = chat.chats.export("json", tmp_path / "c.json")

    (saved,) = from_json(path.read_text(encoding="utf-8"))
    assert [t.text for t in saved.turns] == ["One.", "Two."]
    with pytest.raises(HistoryError, match="is there already"):
        chat.chats.export("md", tmp_path / "c.json")
