import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.main import cli
from edgespec.history.library import Library, history_path
from edgespec.history.store import HistoryStore
from tests.chats import chat, turn


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["history", *arguments])


@pytest.fixture
def two_chats() -> None:
    store = HistoryStore.open(history_path())
    store.save(
        [chat("aaaa2222", "Drafts", target="qwen3-14b", updated_s=1.0)],
        [turn("t1", "What is a draft?", "A proposal \x1b[31m.", chat_id="aaaa2222")],
    )
    store.save(
        [chat("bbbb3333", "東京", head_id="t3")],
        [
            turn("t2", "東京は?", "首都です。", chat_id="bbbb3333"),
            turn("t3", "東京は?", "大きい。", chat_id="bbbb3333"),
        ],
    )
    store.close()


def test_history_of_nobody_is_an_empty_list() -> None:
    result = run()

    assert (result.exit_code, result.stdout) == (0, "")
    assert "chats: 0." in result.stderr
    assert not history_path().exists()


@pytest.mark.usefixtures("two_chats")
def test_history_lists_the_latest_chat_first() -> None:
    lines = run().stdout.splitlines()

    assert [line.split()[0] for line in lines] == ["bbbb3333", "aaaa2222"]
    assert lines[1].endswith("1  qwen3-14b             Drafts")


@pytest.mark.usefixtures("two_chats")
def test_history_lists_chats_with_words() -> None:
    assert run("ls", "京").stdout.startswith("bbbb3333")
    assert run("ls", "proposal").stdout.startswith("aaaa2222")
    assert run("ls", "zebra").stdout == ""


@pytest.mark.usefixtures("two_chats")
def test_history_search_marks_what_was_found() -> None:
    result = run("search", "首都")

    assert result.stdout.endswith("answer: *首都*です。\n")


@pytest.mark.usefixtures("two_chats")
def test_history_shows_the_branch_that_was_shown_last() -> None:
    text = run("show", "bbbb").stdout

    assert "大きい。" in text
    assert "首都" not in text


@pytest.mark.usefixtures("two_chats")
def test_export_and_import_lose_nothing(tmp_path: Path) -> None:
    before = [Library().load(name) for name in ("aaaa2222", "bbbb3333")]
    run("export", "-o", str(tmp_path / "all.json"))
    run("rm", "aaaa", "bbbb")
    gone = Library().chats()

    result = run("import", str(tmp_path / "all.json"))

    assert gone == []
    assert "2 chats, 3 new turns" in result.stderr
    assert [Library().load(name) for name in ("aaaa2222", "bbbb3333")] == before


@pytest.mark.usefixtures("two_chats")
def test_export_goes_to_stdout_or_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "one.md"

    printed = json.loads(run("export", "aaaa2222").stdout)
    written = run("export", "aaaa2222", "-o", str(path))
    again = run("export", "aaaa2222", "-o", str(path))

    assert [c["id"] for c in printed["chats"]] == ["aaaa2222"]
    assert path.read_text().startswith("# Drafts\n")
    assert (written.exit_code, again.exit_code) == (0, 1)
    assert "is there already" in again.stderr


@pytest.mark.usefixtures("two_chats")
def test_title_is_changed() -> None:
    run("title", "aaaa", "All", "about", "drafts")

    assert Library().load("aaaa").chat.title == "All about drafts"


@pytest.mark.usefixtures("two_chats")
def test_check_says_whether_the_file_is_whole() -> None:
    result = run("check")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.endswith("is whole\n")


@pytest.mark.parametrize(
    ("arguments", "code"), [(("show", "zz"), 1), (("rm", "zz"), 1), (("import", "none.json"), 1)]
)
@pytest.mark.usefixtures("two_chats")
def test_what_is_not_there_is_told(arguments: tuple[str, ...], code: int) -> None:
    result = run(*arguments)

    assert result.exit_code == code
    assert result.stderr.startswith("edgespec: ")


def test_file_of_something_else_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")

    result = run("import", str(tmp_path / "x.json"))

    assert result.exit_code == 1
    assert "this is no file of edgespec's chats" in result.stderr
