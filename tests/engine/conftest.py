"""Tiny models for engine tests, written once per run."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from edgespec.engine.context import ContextOptions
from edgespec.engine.model import Model
from edgespec.engine.session import LlamaSession
from edgespec.engine.tiny_model import write_tiny_model
from tests import tinygguf


def write_guard(path: Path) -> Path:
    """The guard's model: quantised weights, heads of 64 as quantised caches want them."""
    write_tiny_model(path)
    return path


WRITERS: dict[str, Callable[..., Path]] = {
    "llama": tinygguf.write_llama,
    "gemma3": tinygguf.write_gemma3,
    "mamba": tinygguf.write_mamba,
    "lfm2": tinygguf.write_hybrid,
    "lfm2-window": partial(tinygguf.write_hybrid, n_window=16),
    "guard": write_guard,
}
SMALL = ContextOptions(n_ctx=512, n_batch=32, max_logits=12, n_threads=1)


class TinyModels:
    """Opened models by architecture, kept for the whole run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._models: dict[str, Model] = {}

    def __getitem__(self, name: str) -> Model:
        if name not in self._models:
            self._models[name] = Model(WRITERS[name](self._folder / f"{name}.gguf"))
        return self._models[name]

    def close(self) -> None:
        for model in self._models.values():
            model.close()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TinyModels]:
    models = TinyModels(tmp_path_factory.mktemp("tiny"))
    yield models
    models.close()


@pytest.fixture
def open_session(tiny: TinyModels) -> Iterator[Callable[..., LlamaSession]]:
    """Opens sessions on tiny models and closes them after the test."""
    opened: list[LlamaSession] = []

    def opener(
        name: str,
        options: ContextOptions = SMALL,
        *,
        rollback: Literal["auto", "replay"] = "auto",
    ) -> LlamaSession:
        opened.append(tiny[name].new_session(options, rollback=rollback))
        return opened[-1]

    yield opener
    for session in opened:
        session.close()
