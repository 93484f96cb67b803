"""The file for what the database does not take: written whole each time, readable by `import`."""

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from edgespec import paths
from edgespec.errors import HistoryError
from edgespec.files import write_whole
from edgespec.history.exchange import as_json, from_json
from edgespec.history.records import SavedChat
from edgespec.history.store import HistoryStore

_PREFIX = "unsaved-chats-"


class Fallback:
    """One process's file; the first folder that takes it has it."""

    def __init__(self, database: Path, folders: Sequence[Path] | None = None) -> None:
        temporary = Path(tempfile.gettempdir(), _own_folder(database))
        usual = (database.parent, paths.state_dir(), temporary)
        self._folders = tuple(folders) if folders is not None else usual
        self._name = f"{_PREFIX}{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.json"
        self._written: list[Path] = []

    def write(self, chats: Sequence[SavedChat]) -> str:
        """Write what is not in the database. Returns: where the text is, as part of a sentence."""
        text = as_json(chats)
        for folder in self._folders:
            path = folder / self._name
            try:
                write_whole(path, text)
            except OSError:
                continue  # the next folder
            if path not in self._written:
                self._written.append(path)
            return f"the text is kept in {path}"
        return "no folder takes the text either, so it is on the screen only: /copy, or /export"

    def remove(self) -> None:
        """The database has it all."""
        for path in self._written:
            with contextlib.suppress(OSError):  # the next start finds it, and nothing new in it
                path.unlink(missing_ok=True)
        self._written.clear()

    def recovered(self, store: HistoryStore) -> list[str]:
        """Take in what earlier processes left. Returns: sentences that say so."""
        said = []
        for path, chats in self._left():
            if path in self._written:
                continue  # our own, and what is to be written is newer
            try:
                for saved in chats:
                    store.merge(saved)
                path.unlink(missing_ok=True)
            except (OSError, HistoryError):
                continue  # stays where it is, for the next start
            said.append(f"what could not be saved the last time was found in {path} and is saved")
        return said

    def unsaved(self) -> list[SavedChat]:
        """What no process could save yet, oldest first."""
        return [saved for _, chats in self._left() for saved in chats]

    def _left(self) -> Iterator[tuple[Path, tuple[SavedChat, ...]]]:
        files: set[Path] = set()
        for folder in self._folders:
            with contextlib.suppress(OSError):  # one that may not be entered has none of ours
                files.update(folder.glob(f"{_PREFIX}*.json"))
        for path in sorted(files, key=lambda path: path.name):
            try:
                yield path, from_json(path.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, HistoryError):
                continue  # gone meanwhile; or no chat: a person may look at it


def _own_folder(database: Path) -> str:
    """One history never takes in what another could not save: the folder is shared by all."""
    whose = hashlib.sha256(os.fsencode(database.absolute())).hexdigest()[:12]
    return f"edgespec-{os.getuid()}-{whose}" if hasattr(os, "getuid") else f"edgespec-{whose}"
