"""A model that is small enough to be measured in a test."""

import pytest

from tests import tinygguf


@pytest.fixture(scope="session")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("bench") / "target.gguf"
    return str(tinygguf.write_llama(path, n_ctx=2048))
