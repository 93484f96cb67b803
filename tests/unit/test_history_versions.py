"""History files of other versions, of other programs, and damaged ones."""

import random
import sqlite3
from pathlib import Path

import pytest

from edgespec.errors import HistoryError
from edgespec.history.damage import set_aside
from edgespec.history.schema import MIGRATIONS
from edgespec.history.store import HistoryStore
from tests.chats import chat, turn


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def opened(path: Path, **options: object) -> HistoryStore:
    return HistoryStore.open(path, busy_s=0.05, **options)  # type: ignore[arg-type]


def test_newer_file_is_refused_and_left_as_it_is(path: Path) -> None:
    opened(path, migrations=(*MIGRATIONS, "CREATE TABLE more (x);")).close()
    before = path.read_bytes()

    with pytest.raises(HistoryError, match=r"newer edgespec \(version 2 of the file, this one"):
        opened(path)

    assert path.read_bytes() == before


def test_newer_file_is_read_as_far_as_it_is_known(path: Path) -> None:
    later = (*MIGRATIONS, "ALTER TABLE chat ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';")
    store = opened(path, migrations=later)
    store.save([chat()], [turn("t1", "Hi")])
    store.close()

    store = HistoryStore.open_to_read(path)

    assert [t.prompt for t in store.chat("chat2345").turns] == ["Hi"]
    with pytest.raises(HistoryError, match="cannot be written"):
        store.save([chat()])
    store.close()


def test_newer_file_without_what_is_read_here_is_refused(path: Path) -> None:
    later = (*MIGRATIONS, "ALTER TABLE turn RENAME COLUMN text TO said;")
    opened(path, migrations=later).close()

    with pytest.raises(HistoryError, match="newer edgespec"):
        HistoryStore.open_to_read(path)


def test_older_file_is_brought_up_to_date_after_a_copy(path: Path) -> None:
    store = opened(path)
    store.save([chat(title="Old")])
    store.close()
    later = (*MIGRATIONS, "ALTER TABLE chat ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';")

    store = opened(path, migrations=later)

    copy = path.with_name("history-before-version-2.db")
    assert store.notices == [f"the history was brought up to date; the old file is {copy}"]
    assert store.chats()[0].title == "Old"
    store.close()
    store = opened(copy)
    assert store.chats()[0].title == "Old"
    store.close()


def test_migration_that_fails_changes_nothing(path: Path) -> None:
    store = opened(path)
    store.save([chat()])
    store.close()

    with pytest.raises(HistoryError):
        opened(path, migrations=(*MIGRATIONS, "CREATE TABLE a (x);\nCREATE TABLE chat (y);"))

    store = opened(path)
    assert len(store.chats()) == 1
    store.close()


def test_database_of_something_else_is_refused(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()

    with pytest.raises(HistoryError, match="a database of something else"):
        opened(path)


@pytest.mark.parametrize("damage", [b"garbage" * 1000, None])
def test_damaged_file_is_set_aside_with_a_notice(damage: bytes | None, path: Path) -> None:
    store = opened(path)
    store.save([chat()], [turn(f"t{i}", "x" * 3000) for i in range(20)])
    store.close()
    broken = bytearray(path.read_bytes())
    broken[4096 : len(broken) - 4096] = random.Random(1).randbytes(len(broken) - 8192)
    path.write_bytes(damage or bytes(broken))

    store = opened(path)

    (away,) = path.parent.glob("history-damaged-*.db")
    assert f"is set aside as {away}" in store.notices[0]
    store.save([chat()])
    assert store.check() == []
    store.close()


def test_two_damaged_files_of_one_second_are_both_kept(path: Path) -> None:
    contents = [b"first" * 1000, b"second" * 1000]

    for content in contents:
        path.write_bytes(content)
        set_aside(path)

    kept = [away.read_bytes() for away in path.parent.glob("history-damaged-*.db")]
    assert sorted(kept) == contents
