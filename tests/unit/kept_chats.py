"""Chats with a file of their own, started and started again."""

from pathlib import Path

from edgespec.chat.controller import ChatController
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from edgespec.history.records import TurnRecord
from tests.scripted import Script, ScriptedLM

PATIENCE_S = 30.0


class Start:
    """Starts chats over one history."""

    def __init__(self, path: Path, opened: list[ChatController]) -> None:
        self._path, self._opened = path, opened
        self.library = Library(path)

    def __call__(self, *scripts: Script | str) -> tuple[ChatController, ScriptedLM]:
        keeper = Keeper(self._path, fallbacks=[self._path.parent], every_s=0.02)
        chat = ChatController(journal=keeper, library=self.library)
        model = ScriptedLM(scripts or ("An answer.",))
        chat.attach(model)
        self._opened.append(chat)
        return chat, model

    def held(self, chat: ChatController) -> list[TurnRecord]:
        """What is on disk of a chat."""
        assert chat.chats.journal.flush(PATIENCE_S)
        return list(self.library.load(chat.conversation.id).turns)


def followed(chat: ChatController) -> list[object]:
    return list(chat.follow())
