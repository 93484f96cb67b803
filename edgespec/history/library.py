"""The saved chats as front ends list, search and change them; opens the file for each call.

What could not be written to the file yet, by this process or one before, is read with it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from edgespec import paths
from edgespec.history.fallback import Fallback
from edgespec.history.records import ChatSummary, Hit, SavedChat
from edgespec.history.store import HistoryStore, is_there

T = TypeVar("T")


def history_path() -> Path:
    """Where the chats are kept."""
    return paths.data_dir() / "history.db"


class Library:
    """All chats of one file. Every call raises `HistoryError` where the file stands in the way."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or history_path()

    def chats(self, words: str = "") -> list[ChatSummary]:
        """Chats with `words` in title, model or turns, the latest first."""
        return self._read(lambda store: store.chats(words)) if self._has_any else []

    def search(self, words: str) -> list[Hit]:
        """Turns with all of `words`, the latest first."""
        return self._read(lambda store: store.search(words)) if self._has_any else []

    def prompts(self) -> list[str]:
        """The messages that were sent last in any chat, the latest at the end."""
        return self._read(HistoryStore.prompts) if self._has_any else []

    def load(self, chat_id: str) -> SavedChat:
        """A chat by its id or the beginning of it."""
        return self._read(lambda store: store.chat(chat_id))

    def last(self) -> SavedChat:
        """The chat that was changed last."""
        return self._read(HistoryStore.last)

    def check(self) -> list[str]:
        """What is wrong with the file; empty: nothing."""
        return self._read(HistoryStore.check)

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat a title."""
        self._write(lambda store: store.rename(store.chat(chat_id).chat.id, title))

    def delete(self, chat_id: str) -> SavedChat:
        """Delete a chat. Returns: what it was; `merge` brings it back."""
        return self._write(lambda store: store.delete(chat_id))

    def merge(self, saved: SavedChat) -> int:
        """Add a chat. Returns: the number of turns that were not here, or older here."""
        return self._write(lambda store: store.merge(saved))

    def _read(self, ask: Callable[[HistoryStore], T]) -> T:
        # First: a process that is starting may be moving it into the file now.
        if unsaved := Fallback(self.path).unsaved():
            store = HistoryStore.open_with(self.path, unsaved)
        else:
            store = HistoryStore.open_to_read(self.path)
        try:
            return ask(store)
        finally:
            store.close()

    @property
    def _has_any(self) -> bool:
        return is_there(self.path) or bool(Fallback(self.path).unsaved())

    def _write(self, act: Callable[[HistoryStore], T]) -> T:
        store = HistoryStore.open(self.path, is_checked=False)
        try:
            Fallback(self.path).recovered(store)  # what is listed can be changed, and deleted
            return act(store)
        finally:
            store.close()
