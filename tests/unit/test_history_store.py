import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from edgespec.errors import HistoryError
from edgespec.history.library import Library
from edgespec.history.records import ChatSummary, SavedChat
from edgespec.history.store import HistoryStore
from tests.chats import chat, saved, turn


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def opened(path: Path, **options: object) -> HistoryStore:
    return HistoryStore.open(path, busy_s=0.05, **options)  # type: ignore[arg-type]


def test_saved_chat_comes_back_as_it_was(path: Path) -> None:
    whole = saved(
        turn("t1", "Hi", "Hello\x00there\n", stats={"accepted_at": [3, 1]}, reasoning="hm"),
        turn("t2", "日本 🦙", "", "t1", status="error", error="it broke"),
        settings={"temperature": 0.5, "stop": ["x"]},
        head_id="t2",
    )
    store = opened(path)
    store.save([whole.chat], whole.turns)
    store.close()

    again = HistoryStore.open_to_read(path)

    assert again.chat("chat2345") == whole
    again.close()


def test_lone_surrogates_are_kept_as_replacement_characters(path: Path) -> None:
    store = opened(path)

    store.save([chat(title="a\ud800")], [turn("t1", "b\udfff")])

    assert store.chat("chat2345").chat.title == "a\ufffd"
    store.close()


def test_saving_again_replaces(path: Path) -> None:
    store = opened(path)
    store.save([chat()], [turn("t1", "Hi", "Hel", status="running")])

    store.save([chat(target="qwen3-14b")], [turn("t1", "Hi", "Hello.")])

    assert store.chat("chat").turns == (turn("t1", "Hi", "Hello."),)
    assert store.chats() == [ChatSummary("chat2345", "A chat", "qwen3-14b", 1, 1.0, 10.0)]
    assert len(store.search("hello")) == 1
    store.close()


def test_title_is_changed_only_where_one_is_given(path: Path) -> None:
    store = opened(path)
    store.save([chat()], [turn("t1")])
    store.rename("chat2345", "Given elsewhere")

    store.save([chat(title="A chat")])
    kept = store.chat("chat").chat.title
    store.save([chat(title="Mine")], titles={"chat2345": "Mine"})

    assert kept == "Given elsewhere"
    assert store.chat("chat").chat.title == "Mine"
    store.close()


def test_prompts_are_the_latest_messages_of_all_chats_each_once(path: Path) -> None:
    store = opened(path)
    store.save([chat("aaaaaaaa"), chat("bbbbbbbb")])
    sent = [("aaaaaaaa", "one"), ("bbbbbbbb", "two"), ("aaaaaaaa", "three"), ("bbbbbbbb", "one")]
    store.save(
        turns=[
            turn(f"t{i}", said, chat_id=chat_id, created_s=float(i))
            for i, (chat_id, said) in enumerate(sent)
        ]
    )

    assert store.prompts(limit=2) == ["three", "one"]
    store.close()


def test_save_is_all_or_nothing(path: Path) -> None:
    store = opened(path)

    with pytest.raises(HistoryError):
        store.save([chat()], [turn("t1"), turn("t2", chat_id="no-such-chat")])

    assert store.chats() == []
    store.close()


def test_chats_are_listed_latest_first_and_found_by_title_model_and_words(path: Path) -> None:
    store = opened(path)
    store.save([chat("aaaaaaaa", "Paella", updated_s=1.0, target="qwen3-14b")])
    store.save(
        [chat("bbbbbbbb", "Other", updated_s=2.0)], [turn("t1", "東京?", chat_id="bbbbbbbb")]
    )

    ids = [[c.id[0] for c in store.chats(words)] for words in ("", "paella", "東京", "QWEN3", "x")]

    assert ids == [["b", "a"], ["a"], ["b"], ["a"], []]
    store.close()


@pytest.mark.parametrize("name", ["", "zz", "chat"])
def test_unknown_or_ambiguous_id_is_told(name: str, path: Path) -> None:
    store = opened(path)
    store.save([chat("chat2345"), chat("chat6789")])

    with pytest.raises(HistoryError, match=r"several chats begin|there is no chat"):
        store.chat(name)
    store.close()


def test_search_tells_chat_turn_and_place(path: Path) -> None:
    store = opened(path)
    store.save([chat()], [turn("t1", "What is a Draft?", "A proposal."), turn("t2", "no")])

    (hit,) = store.search("draft")

    assert (hit.chat_id, hit.turn_id, hit.role) == ("chat2345", "t1", "user")
    assert [hit.excerpt[a:b] for a, b in hit.spans] == ["Draft"]
    store.close()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("\U0001f984", ["t1"]),
        ("ride \U0001f984", ["t1"]),
        ("\U0001f984 walk", []),
        ("\U0001f600", []),
    ],
)
def test_search_finds_emoji(words: str, found: list[str], path: Path) -> None:
    store = opened(path)
    store.save([chat()], [turn("t1", "I ride", "a \U0001f984!"), turn("t2", "I walk")])

    assert [hit.turn_id for hit in store.search(words)] == found
    assert len(store.chats(words)) == len(found)
    store.close()


def test_deleted_chat_is_gone_from_the_bytes_and_can_be_merged_back(path: Path) -> None:
    store = opened(path)
    store.save([chat()], [turn("t1", "secretprompt", "secretanswer " * 500)])

    gone = store.delete("chat2345")

    held = b"".join(p.read_bytes() for p in path.parent.glob("history.db*"))
    assert b"secret" not in held
    assert store.search("secretprompt") == []
    assert store.merge(gone) == 1
    assert store.chat("chat2345") == gone
    store.close()


def test_merge_keeps_the_newer_of_two(path: Path) -> None:
    store = opened(path)
    store.save([chat()], [turn("t1", text="long answer"), turn("t2", text="cut", status="running")])

    n_taken = store.merge(
        saved(turn("t1", text="old", updated_s=5.0), turn("t2", text="cut no more", updated_s=20.0))
    )

    assert n_taken == 1
    assert [t.text for t in store.chat("chat2345").turns] == ["long answer", "cut no more"]
    store.close()


def test_file_that_several_open_at_once_is_opened_by_all(tmp_path: Path) -> None:
    for attempt in range(60):  # without waiting, 1 in 40 met
        path = tmp_path / str(attempt) / "history.db"
        start = threading.Barrier(4)

        def opened(path: Path = path, start: threading.Barrier = start) -> None:
            start.wait()
            HistoryStore.open(path).close()

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(opened) for _ in range(4)]:
                done.result()


def test_two_processes_write_at_once(path: Path) -> None:
    def write(name: str) -> None:
        store = HistoryStore.open(path, busy_s=30.0)
        for number in range(20):
            record = chat(f"{name}{number:06}")
            store.save([record], [turn(f"{name}{number}", chat_id=record.id)])
        store.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in ("aa", "bb", "cc")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    store = opened(path)
    assert len(store.chats()) == 60
    assert store.check() == []
    store.close()


def test_locked_file_is_told_and_nothing_is_changed(path: Path) -> None:
    store = opened(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    with pytest.raises(HistoryError, match="the history is locked"):
        store.save([chat()])

    other.execute("ROLLBACK")
    other.close()
    store.save([chat()])
    assert len(store.chats()) == 1
    store.close()


def test_full_disk_is_told_and_the_rest_stays_whole(path: Path) -> None:
    store = opened(path)
    store.save([chat()], [turn("t1")])
    store._connection.execute("PRAGMA max_page_count = 30")

    with pytest.raises(HistoryError, match="the disk is full"):
        store.save([chat()], [turn("t2", "x" * 1_000_000)])

    assert [t.id for t in store.chat("chat2345").turns] == ["t1"]
    assert store.check() == []
    store.close()


def test_folder_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(HistoryError, match="cannot be used"):
        opened(tmp_path / "file" / "history.db")


def test_read_only_file_is_told(path: Path) -> None:
    opened(path).close()
    store = HistoryStore.open_to_read(path)

    with pytest.raises(HistoryError, match="cannot be written"):
        store.save([chat()])

    store.close()


@pytest.mark.parametrize("has_file", [True, False])
def test_copy_in_memory_has_what_is_unsaved_too(has_file: bool, path: Path) -> None:
    if has_file:
        store = opened(path)
        store.save([chat()], [turn("t1", "Hi", "half")])
        store.close()
    newer = turn("t1", "Hi", "half and the rest", updated_s=11.0)

    store = HistoryStore.open_with(path, [SavedChat(chat(), (newer, turn("t2", "More")))])

    assert [t.text for t in store.chat("chat2345").turns] == ["half and the rest", ""]
    assert [hit.turn_id for hit in store.search("rest")] == ["t1"]
    store.close()
    assert path.exists() == has_file


def test_there_is_nothing_to_read_at_first(path: Path) -> None:
    with pytest.raises(HistoryError, match="there are no saved chats yet"):
        HistoryStore.open_to_read(path)


@pytest.mark.parametrize("chat_id", ["UPPER", " spaced ", "a\0b", "chat"])
def test_whole_id_means_its_chat_however_it_is_written(chat_id: str, path: Path) -> None:
    store = opened(path)
    store.save([chat(), chat(chat_id, "From elsewhere")])

    assert store.chat(chat_id).chat.title == "From elsewhere"
    store.delete(chat_id)
    assert [found.id for found in store.chats()] == ["chat2345"]
    store.close()


def test_chats_are_all_listed(path: Path) -> None:
    store = opened(path)
    store.save([chat(f"chat{i:04}") for i in range(1001)])

    assert len(store.chats()) == 1001
    store.close()


def test_settings_that_are_no_json_leave_the_texts_readable(path: Path) -> None:
    store = opened(path)
    store.save([chat(settings={"seed": 1})], [turn("t1", "Hi", settings={"seed": 1})])
    store._connection.execute("UPDATE turn SET settings = '{\"seed', stats = '[1]'")
    store._connection.execute("UPDATE chat SET settings = ''")

    found = store.chat("chat2345")

    assert (found.chat.settings, found.turns[0].settings, found.turns[0].stats) == ({}, {}, {})
    assert found.turns[0].prompt == "Hi"
    store.close()


def test_lone_surrogates_in_settings_are_kept_as_replacement_characters(path: Path) -> None:
    store = opened(path)

    store.save([chat(settings={"stop": ["\ud800"]})])

    assert store.chat("chat2345").chat.settings == {"stop": ["\ufffd"]}
    store.close()


def test_place_that_cannot_be_looked_into_is_told(tmp_path: Path) -> None:
    library = Library(tmp_path / ("x" * 300) / "history.db")

    for ask in (library.chats, library.last, library.prompts):
        with pytest.raises(HistoryError, match="cannot be used"):
            ask()
