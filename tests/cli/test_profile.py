"""`edgespec profile` from files to the setting to use, on a tiny model."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.main import cli
from tests import tinygguf


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("profile") / "target.gguf"
    return str(tinygguf.write_llama(path, n_ctx=512))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["profile", *arguments])


def test_profile_tells_a_setting_for_each_kind(gguf: str, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "tune.txt").write_text("round and round and round it goes, " * 8, encoding="utf-8")
    (folder / "sum.py").write_text("total = total + 1\n" * 12, encoding="utf-8")
    (folder / "photo.bin").write_bytes(b"\xff\xfe\xfd\x80")
    file = tmp_path / "profile.json"

    result = run("-t", gguf, "--draft", gguf, "-n", "64", "--json", str(file), str(folder))

    assert result.exit_code == 0, result.stderr
    found = json.loads(file.read_text(encoding="utf-8"))
    assert {kind["kind"] for kind in found["kinds"]} == {"code", "prose"}
    assert all(kind["use"].startswith("--drafter ") for kind in found["kinds"])
    assert {walk[0]["drafter"] for walk in found["overall"]["walks"]} >= {"suffix", "model"}
    assert "all texts" in result.stdout


def test_profile_without_files_or_chats_says_what_to_name(gguf: str) -> None:
    result = run("-t", gguf)

    assert result.exit_code == 2
    assert "there is no saved chat to profile" in result.stderr


def test_chat_that_cannot_be_asked_is_left_out_and_told(gguf: str, tmp_path: Path) -> None:
    for name, asked in (("whole", "How are you?"), ("a picture alone", "")):
        said = [{"role": "user", "content": asked}, {"role": "assistant", "content": "Fine! " * 9}]
        (tmp_path / f"{name}.json").write_text(json.dumps(said), encoding="utf-8")

    result = run("-t", gguf, "--draft", "off", "-n", "16", str(tmp_path))

    assert result.exit_code == 0, result.stderr
    assert "left out" in result.stdout
    assert "a picture alone.json" in result.stdout
    assert "whole.json" not in result.stdout


def test_profile_of_nothing_but_empty_files_is_refused(gguf: str, tmp_path: Path) -> None:
    file = tmp_path / "empty.txt"
    file.write_text("\n", encoding="utf-8")

    result = run("-t", gguf, str(file))

    assert result.exit_code == 2
    assert "there is no text to profile" in result.stderr


def test_profile_refuses_a_folder_for_its_figures_before_it_begins(gguf: str) -> None:
    result = run("-t", gguf, "--json", "", __file__)

    assert (result.exit_code, result.stdout) == (2, "")
    assert ". is a folder" in result.stderr
