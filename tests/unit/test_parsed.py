import tomllib
from pathlib import Path

import pytest

from edgespec import paths
from edgespec.models.parsed import WORTH_KEEPING, parsed

LONG = "\n".join(
    f'[models."m{i}"]\nsize = {i}\nshare = 0.{i}\nlist = ["a", "ä"]' for i in range(400)
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))
    return tmp_path


def kept() -> list[Path]:
    return [*(paths.cache_dir() / "toml").glob("*")]


def test_long_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    real = tomllib.loads

    def counted(text: str) -> object:
        reads.append(len(text))
        return real(text)

    monkeypatch.setattr(tomllib, "loads", counted)

    first, second = parsed(LONG), parsed(LONG)

    assert first == second == real(LONG)
    assert reads == [len(LONG)]
    assert len(LONG) > WORTH_KEEPING


def test_changed_text_is_parsed_again() -> None:
    parsed(LONG)

    changed = parsed(LONG.replace("size = 7\n", "size = 8\n"))

    assert changed["models"]["m7"]["size"] == 8


def test_short_text_is_not_kept() -> None:
    assert parsed("a = 1") == {"a": 1}
    assert not kept()


@pytest.mark.parametrize("damage", ["", "{", "[1]"])
def test_damaged_copy_is_made_anew(damage: str) -> None:
    parsed(LONG)
    kept()[0].write_text(damage)

    said = parsed(LONG)

    assert said == tomllib.loads(LONG)
    assert kept()[0].read_text() != damage


def test_date_is_read_though_it_cannot_be_kept() -> None:
    text = f"{LONG}\nday = 2026-01-02"

    assert parsed(text) == tomllib.loads(text)
    assert not kept()


def test_home_that_is_no_folder_costs_the_copy_only(home: Path) -> None:
    (home / "cache").write_text("in the way")

    assert parsed(LONG) == tomllib.loads(LONG)


def test_text_that_is_no_toml_is_an_error() -> None:
    with pytest.raises(ValueError, match="line"):
        parsed(LONG + "\n= 1")
