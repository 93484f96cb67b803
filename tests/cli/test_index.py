"""`edgespec index` as a person types it."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.main import cli
from edgespec.cli.render import Screen
from edgespec.index.learned import learn
from edgespec.index.store import Index
from tests import tinygguf


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "fox.txt").write_text("the quick brown fox jumps over the lazy dog")
    (folder / "code.py").write_text("print('hello')\n")
    (folder / ".env").write_text("TOKEN=1")
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["index", *arguments])


def test_add_tells_what_was_added_and_what_was_left_out(texts: Path) -> None:
    result = run("add", str(texts))

    assert result.exit_code == 0, result.stderr
    assert result.stdout == "2 added, 0 replaced, 0 unchanged\n"
    assert "left out" in result.stderr
    assert ".env: files of this name mostly hold secrets" in result.stderr


def test_add_again_reads_only_what_changed(texts: Path) -> None:
    run("add", str(texts))
    (texts / "code.py").write_text("print('goodbye')\n")

    result = run("add", str(texts))

    assert result.stdout == "0 added, 1 replaced, 1 unchanged\n"


def test_add_for_a_model_makes_it_ready(texts: Path, tmp_path: Path) -> None:
    model = str(tinygguf.write_llama(tmp_path / "m.gguf"))

    result = run("add", str(texts), "--for", model)

    assert result.exit_code == 0, result.stderr
    assert f"ready for {model}: " in result.stdout
    assert len(list(Index("default").folder.glob("*.shard"))) == 1


def test_add_for_a_model_that_is_not_there_adds_nothing(texts: Path) -> None:
    result = run("add", str(texts), "--for", "qwen3-14x")

    assert result.exit_code != 0
    assert "qwen3-14x" in result.stderr
    assert run("ls").stdout == ""


def test_add_without_any_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    result = run("add", str(tmp_path / "empty"))

    assert result.exit_code == 2
    assert "no text was found there" in result.stderr


def test_add_to_a_name_that_cannot_be_reads_nothing(texts: Path) -> None:
    result = run("add", str(texts), "--name", "../x")

    assert result.exit_code == 2
    assert "'../x' cannot name an index" in result.stderr
    assert "left out" not in result.stderr


def test_list_names_every_index(texts: Path) -> None:
    run("add", str(texts), "--name", "work")
    run("add", str(texts / "fox.txt"), "--name", "home")

    result = run()

    assert [line.split()[0] for line in result.stdout.splitlines()] == ["home", "work"]
    assert "home             1 document," in result.stdout


def test_list_without_any_says_how_to_begin() -> None:
    result = run("ls")

    assert result.stdout == ""
    assert "edgespec index add PATH makes one" in result.stderr


def test_info_lists_the_documents(texts: Path) -> None:
    run("add", str(texts))

    result = run("info")

    assert "43  " + str(texts / "fox.txt") in result.stdout


def test_forget_names_what_is_gone(texts: Path) -> None:
    run("add", str(texts))

    result = run("forget", "lazy dog")

    assert result.stdout == f"forgot {texts / 'fox.txt'}\n"
    assert Index("default").manifest.n_documents == 1


@pytest.fixture
def damaged(texts: Path) -> Index:
    """An index before another by name, whose list of documents is no list."""
    run("add", str(texts), "--name", "a")
    run("add", str(texts), "--name", "b")
    index = Index("a")
    (index.folder / "manifest.json").write_text("{")
    return index


def test_forget_goes_on_behind_a_damaged_index_and_fails(damaged: Index) -> None:
    result = run("forget", "lazy dog")

    assert result.exit_code == 1
    assert "forgot" in result.stdout
    assert Index("b").manifest.n_documents == 1
    assert "index 'a' may still hold it" in result.stderr
    assert "edgespec index rm a" in result.stderr


def test_list_shows_a_damaged_index_among_others(damaged: Index) -> None:
    result = run("ls")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0, result.stderr
    assert lines[0].startswith("a ")
    assert "is damaged" in lines[0]
    assert lines[1].startswith("b                2 documents")


def test_verify_tells_of_every_index(damaged: Index) -> None:
    (texts,) = Index("b").folder.glob("*.texts")
    texts.write_bytes(texts.read_bytes()[:-9])

    result = run("verify")

    assert result.exit_code == 1
    assert [line[:2] for line in result.stdout.splitlines()] == ["a:", "b:"]


def test_more_text_than_an_index_holds_is_refused_before_all_is_read(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgespec.index.store.MOST_BYTES", 50)
    read = []
    monkeypatch.setattr(Screen, "status", lambda self, text: read.append(text))

    result = run("add", str(texts / "fox.txt"), str(texts / "code.py"))

    assert result.exit_code == 2
    assert "MB of text or more, of at most" in result.stderr
    assert read == [f"reading {texts / 'fox.txt'}"]


def test_remove_deletes_the_index_and_no_file_of_yours(texts: Path) -> None:
    run("add", str(texts))

    result = run("rm")

    assert result.exit_code == 0, result.stderr
    assert not Index("default").exists
    assert (texts / "fox.txt").exists()


def test_missing_index_is_told_with_the_next_command() -> None:
    result = run("rm", "nope")

    assert result.exit_code == 2
    assert "there is no index 'nope'; there are: none" in result.stderr
    assert "edgespec index add PATH --name nope" in result.stderr


def test_verify_finds_damage_and_mends_it(texts: Path, tmp_path: Path) -> None:
    run("add", str(texts), "--for", str(tinygguf.write_llama(tmp_path / "m.gguf")))
    (shard,) = Index("default").folder.glob("*.shard")
    shard.write_bytes(shard.read_bytes()[:-1] + b"\xff")

    damaged, mended, after = run("verify"), run("verify", "--mend"), run("verify")

    assert (damaged.exit_code, mended.exit_code, after.exit_code) == (1, 0, 0)
    assert "is damaged" in damaged.stdout
    assert "1 damaged shard thrown away" in mended.stderr


def test_learning_is_off_until_it_is_switched_on() -> None:
    before, _, between, _, after = (run(), run("learn", "on"), run(), run("learn", "off"), run())

    assert "answers are not learned" in before.stderr
    assert "answers are learned" in between.stderr
    assert "answers are not learned" in after.stderr


def test_learned_answer_is_an_index_like_any_other() -> None:
    kept = learn("a rather long answer about the weather", tuple(range(20)), "ab" * 32)
    secret = learn("the key is AKIAIOSFODNN7EXAMPLE", tuple(range(20)), "ab" * 32)

    result = run("forget", "weather")

    assert (kept, secret) == (True, False)
    assert result.stdout.startswith("forgot answer of ")


def test_bench_prints_both_figures() -> None:
    result = run("bench", "--tokens", "20000")

    assert result.exit_code == 0, result.stderr
    assert "tokens        20,000" in result.stdout
    assert "build" in result.stdout
    assert "query, there" in result.stdout
