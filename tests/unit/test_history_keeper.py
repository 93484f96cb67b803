import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from edgespec.errors import HistoryError
from edgespec.history.exchange import from_json
from edgespec.history.keeper import Keeper, SaveState
from edgespec.history.library import Library
from edgespec.history.records import TurnRecord
from edgespec.history.store import HistoryStore
from tests.chats import chat, turn

PATIENCE_S = 30.0


class Heard:
    """What a keeper told, to be waited for."""

    def __init__(self) -> None:
        self.states: list[SaveState] = []
        self._is_new = threading.Condition()

    def __call__(self, state: SaveState) -> None:
        with self._is_new:
            self.states.append(state)
            self._is_new.notify_all()

    def until(self, word: str) -> SaveState:
        """Wait for the latest state to be `word`."""
        with self._is_new:
            reached = lambda: bool(self.states) and self.states[-1].word == word  # noqa: E731
            assert self._is_new.wait_for(reached, PATIENCE_S), self.states
            return self.states[-1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@contextmanager
def keeping(path: Path, **options: object) -> Iterator[tuple[Keeper, Heard]]:
    open_store = partial(HistoryStore.open, busy_s=0.01)
    given = {"fallbacks": [path.parent / "kept"], "every_s": 0.02, "open_store": open_store}
    keeper = Keeper(path, **{**given, **options})  # type: ignore[arg-type]
    heard = Heard()
    keeper.listen(heard)
    try:
        yield keeper, heard
    finally:
        keeper.close(PATIENCE_S)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program writes for as long as this lasts."""
    HistoryStore.open(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.close()


def test_flush_returns_when_the_disk_has_it(path: Path) -> None:
    with keeping(path, every_s=PATIENCE_S) as (keeper, heard):
        keeper.keep(chat(), turn("t1", "Hi"))

        assert keeper.flush(PATIENCE_S)

        assert [t.prompt for t in Library(path).load("chat2345").turns] == ["Hi"]
        assert (keeper.state.word, heard.states) == ("SAVED", [])


def test_growing_turn_is_written_by_itself_and_asked_for_when_it_is_time(path: Path) -> None:
    asked = threading.Event()

    def record() -> TurnRecord:
        asked.set()
        return turn("t1", "Hi", "so far", status="running")

    with keeping(path) as (keeper, _):
        keeper.keep(chat(), turn("t1", "Hi", status="queued"))
        keeper.grow("t1", record)

        assert asked.wait(PATIENCE_S)
        keeper.keep(chat())
        keeper.flush(PATIENCE_S)

        assert Library(path).load("chat2345").turns[0].text == "so far"


def test_records_of_two_chats_are_written_together(path: Path) -> None:
    with locked(path), keeping(path) as (keeper, _):
        keeper.keep(chat("aaaaaaaa", "First"), turn("t1", chat_id="aaaaaaaa"))
        keeper.flush(PATIENCE_S)
        keeper.keep(chat("bbbbbbbb", "Second"), turn("t2", chat_id="bbbbbbbb"))
        keeper.flush(PATIENCE_S)

    with keeping(path) as (keeper, _):
        keeper.flush(PATIENCE_S)

    assert sorted(c.title for c in Library(path).chats()) == ["First", "Second"]


def test_turn_brings_its_chat_back_that_another_process_deleted(path: Path) -> None:
    with keeping(path) as (keeper, _):
        keeper.keep(chat(), turn("t1"))
        keeper.flush(PATIENCE_S)
        Library(path).delete("chat2345")

        keeper.keep(None, turn("t2"))
        keeper.flush(PATIENCE_S)

        assert [t.id for t in Library(path).load("chat2345").turns] == ["t2"]


def test_pieces_of_an_answer_are_not_written_one_by_one(path: Path) -> None:
    asked: list[int] = []

    def record(number: int) -> TurnRecord:
        asked.append(number)
        return turn("t1", "Hi", "x" * number, status="running")

    with keeping(path, every_s=PATIENCE_S) as (keeper, _):
        keeper.keep(chat(), turn("t1", "Hi"))
        keeper.flush(PATIENCE_S)
        for number in range(1000):
            keeper.grow("t1", partial(record, number))

    assert asked == [999]


def test_end_of_a_turn_is_not_overwritten_by_what_grew_before(path: Path) -> None:
    with keeping(path) as (keeper, _):
        keeper.grow("t1", lambda: turn("t1", "Hi", "half", status="running"))
        keeper.keep(chat(), turn("t1", "Hi", "whole"))
        keeper.flush(PATIENCE_S)

        assert Library(path).load("chat2345").turns[0].text == "whole"


def test_close_writes_what_grew(path: Path) -> None:
    with keeping(path, every_s=PATIENCE_S) as (keeper, _):
        keeper.keep(chat(), turn("t1"))
        keeper.flush(PATIENCE_S)
        keeper.grow("t1", lambda: turn("t1", "Hi", "last words"))

    assert Library(path).load("chat2345").turns[0].text == "last words"


def test_forgotten_turn_is_deleted(path: Path) -> None:
    with keeping(path) as (keeper, _):
        keeper.keep(chat(), turn("t1"), turn("t2"))
        keeper.forget("t1")
        keeper.flush(PATIENCE_S)

        assert [t.id for t in Library(path).load("chat2345").turns] == ["t2"]


def test_locked_history_is_told_with_the_file_that_has_the_text(path: Path) -> None:
    with locked(path), keeping(path) as (keeper, heard):
        keeper.keep(chat(), turn("t1", "Hi", "an answer"))

        assert keeper.flush(PATIENCE_S)
        state = heard.until("UNSAVED")

        (kept,) = (path.parent / "kept").iterdir()
        assert state.note == (
            f"the history is locked: another program is writing to it; the text is kept in {kept}"
        )
        (saved,) = from_json(kept.read_text(encoding="utf-8"))
        assert [t.text for t in saved.turns] == ["an answer"]


def test_text_reaches_the_history_once_the_lock_is_gone(path: Path) -> None:
    with keeping(path) as (keeper, heard):
        with locked(path):
            keeper.keep(chat(), turn("t1", "Hi", "an answer"))
            keeper.flush(PATIENCE_S)
            heard.until("UNSAVED")
        state = heard.until("SAVED")

        assert state.note == "the chat is saved in the history again"
        assert Library(path).load("chat2345").turns[0].text == "an answer"
        assert list((path.parent / "kept").iterdir()) == []


def test_newer_record_wins_over_one_whose_write_failed(path: Path) -> None:
    with keeping(path) as (keeper, heard):
        with locked(path):
            keeper.keep(chat(), turn("t1", "Hi", "old"), turn("t2"))
            keeper.flush(PATIENCE_S)
            heard.until("UNSAVED")
            keeper.keep(None, turn("t1", "Hi", "new"))
            keeper.forget("t2")
        heard.until("SAVED")
        keeper.flush(PATIENCE_S)

        assert [t.text for t in Library(path).load("chat2345").turns] == ["new"]


def test_newer_file_leaves_the_chat_unsaved_but_in_the_fallback(path: Path) -> None:
    store = HistoryStore.open(path)
    store._connection.execute("PRAGMA user_version = 99")
    store.close()

    with keeping(path) as (keeper, heard):
        keeper.keep(chat(), turn("t1", "Hi"))
        keeper.flush(PATIENCE_S)

        assert "newer edgespec" in heard.until("UNSAVED").note
        assert not keeper.close(PATIENCE_S)
    assert len(list((path.parent / "kept").iterdir())) == 1


def test_second_folder_has_the_text_when_the_first_cannot(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folders = [tmp_path / "file", tmp_path / "second"]

    with keeping(tmp_path / "file" / "history.db", fallbacks=folders) as (keeper, heard):
        keeper.keep(chat(), turn("t1"))
        keeper.flush(PATIENCE_S)

        assert str(tmp_path / "second") in heard.until("UNSAVED").note


def test_nobody_takes_the_text_and_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with keeping(tmp_path / "file" / "history.db", fallbacks=[]) as (keeper, heard):
        keeper.keep(chat(), turn("t1"))
        keeper.flush(PATIENCE_S)

        assert "it is on the screen only" in heard.until("UNSAVED").note


def test_next_start_takes_in_what_was_left_unsaved(path: Path) -> None:
    with locked(path), keeping(path) as (keeper, heard):
        keeper.keep(chat(), turn("t1", "Hi", "an answer"))
        keeper.flush(PATIENCE_S)
        heard.until("UNSAVED")

    with keeping(path) as (keeper, heard):
        keeper.flush(PATIENCE_S)

        assert "was found in" in heard.until("SAVED").note
        assert Library(path).load("chat2345").turns[0].text == "an answer"
    assert list((path.parent / "kept").iterdir()) == []


def test_fallback_that_is_no_chat_stays_where_it_is(path: Path) -> None:
    stray = path.parent / "kept" / "unsaved-chats-x.json"
    stray.parent.mkdir()
    stray.write_text("{")

    with keeping(path) as (keeper, heard):
        keeper.flush(PATIENCE_S)

        assert (keeper.state.word, heard.states) == ("SAVED", [])
    assert stray.exists()


def test_notice_of_a_damaged_file_reaches_the_person(path: Path) -> None:
    path.write_bytes(b"garbage" * 1000)

    with keeping(path) as (keeper, heard):
        keeper.flush(PATIENCE_S)

        assert "was damaged and is set aside" in heard.until("SAVED").note


def test_fault_of_our_own_loses_nothing_and_ends_no_thread(path: Path) -> None:
    attempts: list[int] = []

    def open_store(path: Path) -> HistoryStore:
        attempts.append(1)
        if len(attempts) < 3:
            raise ZeroDivisionError("division by zero")
        return HistoryStore.open(path)

    with keeping(path, open_store=open_store) as (keeper, heard):
        keeper.keep(chat(), turn("t1", "Hi"))
        keeper.flush(PATIENCE_S)
        heard.until("SAVED")

        assert "ZeroDivisionError: division by zero" in heard.states[0].note
        assert [t.prompt for t in Library(path).load("chat2345").turns] == ["Hi"]


def test_dropped_chat_is_not_written_again(path: Path) -> None:
    with keeping(path) as (keeper, _):
        keeper.keep(chat(), turn("t1"))
        keeper.flush(PATIENCE_S)
        keeper.drop("chat2345")
        Library(path).delete("chat2345")
        keeper.keep(None, turn("t1", "Hi", "an answer that ended late"))
        keeper.flush(PATIENCE_S)

        assert keeper.state.word == "SAVED"
        with pytest.raises(HistoryError, match="there is no chat"):
            Library(path).load("chat2345")


def test_text_left_in_the_temporary_folder_goes_to_its_own_history_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "file").write_text("no folder")
    mine, other = tmp_path / "file" / "history.db", tmp_path / "other" / "history.db"
    with keeping(mine, fallbacks=None) as (keeper, heard):
        keeper.keep(chat(), turn("t1"))
        heard.until("UNSAVED")

    with keeping(other, fallbacks=None) as (keeper, _):
        keeper.flush(PATIENCE_S)
    (tmp_path / "file").unlink()
    with keeping(mine, fallbacks=None) as (keeper, _):
        keeper.flush(PATIENCE_S)

    assert Library(other).chats() == []
    assert len(Library(mine).chats()) == 1


def test_dropped_chat_leaves_nothing_in_the_fallback(path: Path) -> None:
    with keeping(path) as (keeper, heard):
        with locked(path):
            keeper.keep(chat(), turn("t1", "Hi", "an answer"))
            keeper.flush(PATIENCE_S)
            heard.until("UNSAVED")
            keeper.drop("chat2345")
        heard.until("SAVED")

        assert list((path.parent / "kept").iterdir()) == []
    assert Library(path).chats() == []


def test_what_was_dropped_or_forgotten_during_a_write_that_failed_stays_so(path: Path) -> None:
    class Disturbed:
        n_tries = 0

        def __call__(self, path: Path) -> HistoryStore:
            self.n_tries += 1
            if self.n_tries == 1:
                keeper.keep(chat("chat6789"), turn("t3", chat_id="chat6789"))
                keeper.drop("chat2345")
                keeper.forget("t2")
            if self.n_tries < 3:
                raise HistoryError("not now")
            return HistoryStore.open(path)

    is_set = threading.Event()

    def open_store(path: Path) -> HistoryStore:
        assert is_set.wait(PATIENCE_S)
        return disturbed(path)

    disturbed = Disturbed()
    keeper = Keeper(path, fallbacks=[path.parent / "kept"], every_s=0.02, open_store=open_store)
    heard = Heard()
    keeper.listen(heard)
    keeper.keep(chat(title="secret"), turn("t1"))
    keeper.keep(chat("chat6789"), turn("t2", chat_id="chat6789"))
    is_set.set()
    heard.until("UNSAVED")
    heard.until("SAVED")
    keeper.close(PATIENCE_S)

    (found,) = Library(path).chats()
    assert found.id == "chat6789"
    assert [t.id for t in Library(path).load("chat6789").turns] == ["t3"]
