"""Loaded tiny models for the tests of the Python API, and a gate that holds their engine."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edgespec.api.model import LoadedModel, load
from edgespec.engine.session import LlamaSession
from tests import tinygguf
from tests.api.answers import EVERY_DRAFTER

_ENOUGH_S = 30.0


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all of these tests: the guard's child process runs once."""
    return tmp_path_factory.mktemp("api-home")


@pytest.fixture(autouse=True)
def edgespec_home(shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGESPEC_HOME", str(shared_home))
    return shared_home


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """GGUF files: a target per architecture, a drafter of the llama's, one of other words."""
    folder = tmp_path_factory.mktemp("files")
    at = {
        name: folder / f"{name}.gguf"
        for name in ("llama", "draft", "short-draft", "gemma3", "mamba", "lfm2", "other-words")
    }
    tinygguf.write_llama(at["llama"], scale=3.0)
    tinygguf.write_llama(at["draft"], noise=0.05, scale=3.0)
    tinygguf.write_llama(at["short-draft"], noise=0.05, n_ctx=64, scale=3.0)
    tinygguf.write_llama(at["other-words"], vocab=tinygguf.OTHER_VOCAB)
    tinygguf.write_gemma3(at["gemma3"], scale=3.0)
    tinygguf.write_mamba(at["mamba"], scale=3.0)
    tinygguf.write_hybrid(at["lfm2"], scale=3.0)
    return at


@pytest.fixture
def loaded(files: dict[str, Path]) -> Iterator[Callable[..., LoadedModel]]:
    """Loads files by name and closes what was loaded."""
    opened: list[LoadedModel] = []

    def loader(target: str = "llama", draft: str | None = None, **options: Any) -> LoadedModel:
        path = files[draft] if draft else None
        opened.append(
            load(files[target], draft=path, **{"n_threads": 1, "measure": False, **options})
        )
        return opened[-1]

    yield loader
    for model in opened:
        model.close()


@pytest.fixture
def model(loaded: Callable[..., LoadedModel]) -> LoadedModel:
    """A tiny llama without a draft model."""
    return loaded()


@pytest.fixture(params=EVERY_DRAFTER)
def drafter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pair(loaded: Callable[..., LoadedModel]) -> LoadedModel:
    """A tiny llama with a draft model that mostly agrees."""
    return loaded("llama", "draft", drafter="suffix+model")


class Gate:
    """Holds engine threads at the `at`-th pass from now on, counted over all models."""

    def __init__(self) -> None:
        self.n_passes = 0
        self._at = 0
        self._is_held = threading.Event()
        self._may_go = threading.Event()

    def hold(self, at: int) -> None:
        self._at = self.n_passes + at

    def wait(self) -> None:
        assert self._is_held.wait(_ENOUGH_S), "the engine never came to the gate"

    def release(self) -> None:
        self._may_go.set()

    def passed(self) -> None:
        self.n_passes += 1
        if self.n_passes == self._at:
            self._is_held.set()
            assert self._may_go.wait(_ENOUGH_S), "the gate was never opened"


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    real_forward = LlamaSession.forward

    def forward(session: LlamaSession, *arguments: Any, **options: Any) -> Any:
        made.passed()
        return real_forward(session, *arguments, **options)

    monkeypatch.setattr(LlamaSession, "forward", forward)
    yield made
    made.release()
