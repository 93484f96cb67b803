from pathlib import Path

import pytest
from click.testing import CliRunner

from edgespec.cli.main import cli

WRONG = '[models."qwen3-14b"]\nsize_bytes = 8_001_752_960\n'


def test_check_finds_nothing_in_the_shipped_catalogue() -> None:
    result = CliRunner().invoke(cli, ["models", "check"])

    assert (result.exit_code, result.stdout) == (0, "")
    assert "entries checked" in result.stderr
    assert "all as they should be" in result.stderr


def test_check_reads_ones_own_models_toml(edgespec_home: Path) -> None:
    edgespec_home.mkdir()
    (edgespec_home / "models.toml").write_text(WRONG)

    result = CliRunner().invoke(cli, ["models", "check"])

    assert result.exit_code == 1
    assert result.stdout.startswith("qwen3-14b has 8,001,752,960 bytes, but shape and Q4_K_M give")
    assert "1 wrong" in result.stderr


def test_check_of_one_entry_leaves_the_others_alone(edgespec_home: Path) -> None:
    edgespec_home.mkdir()
    (edgespec_home / "models.toml").write_text(WRONG)

    result = CliRunner().invoke(cli, ["models", "check", "qwen3-8b"])

    assert (result.exit_code, result.stdout) == (0, "")


def test_check_online_says_that_there_is_no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    result = CliRunner().invoke(cli, ["models", "check", "--online"])

    assert result.exit_code == 6
    assert "the hub cannot be asked: no connection to http://127.0.0.1:9" in result.stderr


def test_check_online_shows_what_the_catalogue_does_not_pin(
    edgespec_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.hub import COMMIT, serving

    edgespec_home.mkdir()
    (edgespec_home / "models.toml").write_text(
        '[models.mine]\ntitle = "Mine"\nrepo = "me/mine"\nfile = "mine.gguf"\nquant = "Q8_0"\n'
    )
    with serving() as hub:
        hub.files["me/mine", "mine.gguf"] = b"GGUF"
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        result = CliRunner().invoke(cli, ["models", "check", "mine", "--online"])

    lines = result.stdout.splitlines()
    assert "mine  not pinned" in lines
    assert "    size_bytes = 4" in lines
    assert f'    revision = "{COMMIT}"' in lines
