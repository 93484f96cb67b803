"""Plain speeds of catalogue models on this machine: measured, reckoned, or unknown."""

from pathlib import Path

import pytest

from edgespec.api.samples import Samples, write
from edgespec.api.speeds import speeds
from edgespec.models.catalogue import load_catalogue
from edgespec.models.spec import ModelSpec

SMALL, LARGE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))
    return tmp_path


def specs() -> dict[str, ModelSpec]:
    return {spec.id: spec for spec in load_catalogue() if spec.id in (SMALL, LARGE)}


def keep(home: Path, name: str, size_bytes: int | None, plain_s: float) -> None:
    assert size_bytes is not None
    write(home / "cache" / "pace" / name, Samples({1: (plain_s,)}), [("m.gguf", size_bytes)])


def test_nothing_is_said_where_nothing_was_measured(home: Path) -> None:
    assert speeds(specs().values()) == {}


def test_measured_model_has_its_fastest_speed(home: Path) -> None:
    keep(home, "a.json", specs()[LARGE].size_bytes, 0.05)
    keep(home, "b.json", specs()[LARGE].size_bytes, 0.04)

    found = speeds(specs().values())[LARGE]

    assert found.is_measured
    assert found.tokens_per_s == pytest.approx(25)


def test_other_model_is_reckoned_from_the_bytes_that_a_token_reads(home: Path) -> None:
    keep(home, "a.json", specs()[LARGE].size_bytes, 0.04)

    found = speeds(specs().values())[SMALL]

    assert not found.is_measured
    assert 40 < found.tokens_per_s < 100


@pytest.mark.parametrize("damage", ["", "[]", '{"files": 3}', '{"seconds": {}}'])
def test_file_that_makes_no_sense_says_nothing(home: Path, damage: str) -> None:
    keep(home, "a.json", 1, 0.04)
    (home / "cache" / "pace" / "a.json").write_text(damage)

    assert speeds(specs().values()) == {}
