"""What commands run inside the test process need, and leave behind."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def gguf(tmp_path: Path) -> str:
    """A file to name; the scripted model does not read it."""
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return str(path)


@pytest.fixture(autouse=True)
def _logger_as_it_was() -> Iterator[None]:
    """Log handlers that a command adds are taken away again."""
    logger = logging.getLogger("edgespec")
    handlers, level = logger.handlers[:], logger.level
    yield
    for handler in set(logger.handlers) - set(handlers):
        handler.close()
    logger.handlers[:] = handlers
    logger.setLevel(level)
