"""The history's file goes away, or cannot be written: what was kept is found all the same."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from edgespec.chat.conversation import conversation_of
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from edgespec.history.records import SavedChat
from edgespec.history.store import HistoryStore
from tests.chats import chat, turn

PATIENCE_S = 30.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "history.db"


def kept(keeper: Keeper, *turn_ids: str) -> None:
    """Two records at most: the chat's and its newest turn's."""
    for turn_id in turn_ids:
        keeper.keep(chat(), turn(turn_id, f"message {turn_id}"))
        assert keeper.flush(PATIENCE_S)


def prompts(path: Path) -> list[str]:
    return [turn.prompt for turn in Library(path).load("chat2345").turns]


def test_chat_is_written_anew_when_its_folder_was_deleted(path: Path) -> None:
    keeper = Keeper(path)
    kept(keeper, "t1")

    shutil.rmtree(path.parent)
    kept(keeper, "t2")

    assert keeper.state.note == "the chat is saved in the history again"
    assert keeper.close(PATIENCE_S)
    assert prompts(path) == ["message t1", "message t2"]


def test_chat_is_written_anew_when_its_file_was_deleted_before_the_end(path: Path) -> None:
    keeper = Keeper(path)
    kept(keeper, "t1")

    shutil.rmtree(path.parent)

    assert keeper.close(PATIENCE_S)
    assert prompts(path) == ["message t1"]


def test_chat_is_added_to_the_file_that_took_the_place_of_its_own(path: Path) -> None:
    keeper = Keeper(path)
    kept(keeper, "t1")
    other = path.with_name("other.db")
    store = HistoryStore.open(other)
    store.save([chat("other234")], [turn("t9", "elsewhere", chat_id="other234")])
    store.close()

    other.replace(path)
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    kept(keeper, "t2")

    assert keeper.close(PATIENCE_S)
    assert prompts(path) == ["message t1", "message t2"]
    assert len(Library(path).chats()) == 2


def test_all_of_a_chat_goes_into_the_fallback_when_no_file_can_be_made_anew(path: Path) -> None:
    keeper = Keeper(path, every_s=0.02)
    kept(keeper, "t1")

    shutil.rmtree(path.parent)
    path.parent.write_text("no folder")
    kept(keeper, "t2")

    assert keeper.state.word == "UNSAVED"
    assert not keeper.close(PATIENCE_S)
    assert prompts(path) == ["message t1", "message t2"]
    path.parent.unlink()
    Keeper(path).close(PATIENCE_S)


@pytest.mark.parametrize("has_file", [True, False])
def test_what_is_unsaved_is_listed_found_and_opened(has_file: bool, path: Path) -> None:
    if has_file:
        keeper = Keeper(path)
        kept(keeper, "t1")
        keeper.close(PATIENCE_S)
    refuse = partial(HistoryStore.open, migrations=())  # every file is newer than what it knows
    if not has_file:
        path.parent.mkdir()
        path.mkdir()
    keeper = Keeper(path, open_store=refuse if has_file else HistoryStore.open)
    kept(keeper, "t2")
    keeper.close(PATIENCE_S)
    if not has_file:
        path.rmdir()

    library = Library(path)

    assert [found.title for found in library.chats()] == ["A chat"]
    assert [hit.turn_id for hit in library.search("t2")] == ["t2"]
    assert library.last().turns[-1].prompt == "message t2"
    assert len(library.load("chat2345").turns) == (2 if has_file else 1)


def test_child_that_was_written_before_its_parent_stays_on_its_branch() -> None:
    records = (turn("t1"), turn("t3", parent_id="t2"), turn("t2", parent_id="t1"))

    conversation = conversation_of(SavedChat(chat(head_id="t3"), records))

    assert [turn.id for turn in conversation.tree.path] == ["t1", "t2", "t3"]


def test_what_is_unsaved_can_be_deleted_for_good(path: Path) -> None:
    refuse = partial(HistoryStore.open, migrations=())
    HistoryStore.open(path).close()
    keeper = Keeper(path, open_store=refuse)
    kept(keeper, "t1")
    keeper.close(PATIENCE_S)

    deleted = Library(path).delete("chat2345")

    assert [turn.id for turn in deleted.turns] == ["t1"]
    assert Library(path).chats() == []
    Keeper(path).close(PATIENCE_S)
    assert Library(path).chats() == []
