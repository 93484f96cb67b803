"""A command run inside the test process leaves its log handlers behind: take them away again."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _logger_as_it_was() -> Iterator[None]:
    logger = logging.getLogger("edgespec")
    handlers, level = logger.handlers[:], logger.level
    yield
    for handler in set(logger.handlers) - set(handlers):
        handler.close()
    logger.handlers[:] = handlers
    logger.setLevel(level)
