"""A hub of this machine, for the tests that pull from one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub import LocalHub, serving
from tests.unit.hub_world import DATA, FILE, REPO


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "Modèle 日本" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(folder))
    return folder


@pytest.fixture
def hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with serving() as server:
        server.files[REPO, FILE] = DATA
        monkeypatch.setenv("HF_ENDPOINT", f"{server.url}/")  # with a slash, as people write it
        yield server
