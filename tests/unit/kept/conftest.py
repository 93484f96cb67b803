"""Chats that are kept in a history of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgespec.chat.controller import ChatController
from tests.unit.kept_chats import Start


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def opened(path: Path) -> Iterator[list[ChatController]]:
    chats: list[ChatController] = []
    yield chats
    for chat in chats:
        chat.close()


@pytest.fixture
def start(path: Path, opened: list[ChatController]) -> Start:
    return Start(path, opened)
