"""What is being typed: kept within two seconds, found again by the next process, once."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgespec.history.keeper import Keeper
from edgespec.history.unsent import Unsent
from tests.chats import chat, turn

PATIENCE_S = 30.0


@pytest.fixture
def dead(tmp_path: Path) -> Path:
    """What a process left that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    path = tmp_path / f"unsent-{process.pid}.txt"
    path.write_text("half a \u65e5\u672c\nmess", encoding="utf-8")
    return path


def until(path: Path, text: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists() or path.read_text(encoding="utf-8") != text:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_text_of_a_dead_process_is_taken_once(dead: Path) -> None:
    first, second = Unsent(dead.parent), Unsent(dead.parent)

    assert first.taken() == "half a \u65e5\u672c\nmess"
    first.keep("")
    assert second.taken() == ""


def test_taken_text_is_on_the_disk_until_it_is_replaced(dead: Path) -> None:
    unsent = Unsent(dead.parent)

    unsent.taken()

    own = dead.with_name(f"unsent-{os.getpid()}.txt")
    assert own.read_text(encoding="utf-8") == "half a \u65e5\u672c\nmess"
    assert not dead.exists()


def test_text_of_a_running_process_stays_its_own(tmp_path: Path) -> None:
    other = tmp_path / f"unsent-{os.getppid()}.txt"
    other.write_text("being typed")

    assert Unsent(tmp_path).taken() == ""
    assert other.exists()


def test_newest_text_comes_first(dead: Path) -> None:
    older = dead.with_name("unsent-999999999.txt")
    older.write_text("older")
    os.utime(older, (1, 1))
    unsent = Unsent(dead.parent)

    newest = unsent.taken()
    unsent.keep("")

    assert newest.startswith("half")
    assert unsent.taken() == "older"


def test_file_that_is_no_text_is_passed_over(dead: Path) -> None:
    dead.write_bytes(b"\xff\xfe")

    assert Unsent(dead.parent).taken() == ""


def test_folder_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")

    Unsent(blocked / "below").keep("typed")

    assert Unsent(blocked / "below").taken() == ""


def test_keeper_keeps_what_is_typed_while_it_is_typed(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "history.db", every_s=0.01)
    own = tmp_path / f"unsent-{os.getpid()}.txt"

    keeper.jot("half a")
    until(own, "half a")
    keeper.jot("half a mess")
    until(own, "half a mess")

    keeper.close()


def test_keeper_drops_what_was_typed_once_it_is_sent(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "history.db", every_s=0.01)
    keeper.jot("a message")

    keeper.keep(chat(), turn("t1", "a message"))
    keeper.jot("")
    keeper.close()

    assert not list(tmp_path.glob("unsent-*"))


def test_keeper_keeps_the_last_word_when_it_is_closed(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "history.db", every_s=3600.0)
    keeper.flush()

    keeper.jot("half")
    keeper.close()

    assert Unsent(tmp_path).taken() == "half"


def test_keeper_drops_what_was_sent_at_once(dead: Path) -> None:
    keeper = Keeper(dead.parent / "history.db", every_s=3600.0)
    keeper.flush()
    assert keeper.jotted()

    keeper.jot("")

    deadline = time.monotonic() + PATIENCE_S
    while list(dead.parent.glob("unsent-*")):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    keeper.close()


def test_newer_text_of_an_editor_takes_the_place_of_what_was_typed(dead: Path) -> None:
    os.utime(dead, (1, 1))
    dead.with_suffix(".md").write_text("a whole message\n", encoding="utf-8")
    unsent = Unsent(dead.parent)

    assert unsent.taken() == "a whole message"
    assert [path.name for path in dead.parent.iterdir()] == [f"unsent-{os.getpid()}.txt"]


def test_editor_that_saved_nothing_leaves_what_was_typed(dead: Path) -> None:
    os.utime(dead, (1, 1))
    dead.with_suffix(".md").touch()

    assert Unsent(dead.parent).taken() == "half a \u65e5\u672c\nmess"


def test_editor_of_a_running_process_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / f"unsent-{os.getppid()}.md"
    other.write_text("being written")

    assert Unsent(tmp_path).taken() == ""
    assert other.exists()


def test_lent_file_of_a_process_is_found_by_the_next(tmp_path: Path) -> None:
    script = "from edgespec.history.unsent import Unsent; import pathlib;"
    script += f"Unsent(pathlib.Path({str(tmp_path)!r})).lent.write_text('written')"
    subprocess.run([sys.executable, "-c", script], check=True)

    assert Unsent(tmp_path).taken() == "written"
