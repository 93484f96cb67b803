"""A home folder without anything in it, and a model to put there."""

from pathlib import Path

import pytest

from tests.tinygguf import write_llama


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = write_llama(tmp_path_factory.mktemp("model") / "m.gguf", n_vocab_extra=20_000)
    return path.read_bytes()
