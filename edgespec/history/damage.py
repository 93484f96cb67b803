"""SQLite's errors as sentences, and what becomes of a damaged file: it is set aside, never lost."""

import os
import sqlite3
import time
from pathlib import Path

from edgespec.errors import HistoryError

_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NO_ACCESS = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
)


def as_history_error(error: sqlite3.Error | OSError, path: Path) -> HistoryError:
    """What went wrong with the file at `path`, as a person is told."""
    if isinstance(error, OSError):
        return HistoryError(
            f"the folder of the chats, {path.parent}, cannot be used: {error.strerror or error}",
            hint="let EDGESPEC_HOME name a folder of yours",
        )
    kind = _kind(error)
    if is_locked(error):
        return HistoryError(
            "the history is locked: another program is writing to it",
            hint=f"close what has {path} open",
        )
    if kind == sqlite3.SQLITE_FULL:
        return HistoryError(
            f"the disk is full: {path} cannot grow", hint=f"free some space in {path.parent}"
        )
    if kind in _NO_ACCESS:
        return HistoryError(
            f"the history, {path}, cannot be written or opened ({error})",
            hint=f"make {path.parent} writable, or let EDGESPEC_HOME name another folder",
        )
    if is_damage(error):
        return HistoryError(
            f"the history, {path}, is damaged ({error})",
            hint="a new chat, without --continue, sets it aside and begins a new history",
        )
    return HistoryError(f"the history, {path}, gave an error: {error}")


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another program is writing to the file."""
    return _kind(error) in _LOCKED


def is_no_access(error: sqlite3.Error) -> bool:
    """Whether the file or its folder may not be opened or written."""
    return _kind(error) in _NO_ACCESS


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file's contents are wrong, not its surroundings."""
    return _kind(error) in _DAMAGED or type(error) is sqlite3.DatabaseError


def set_aside(path: Path) -> str:
    """Rename a damaged file, with its log. Returns: a sentence that says so. Raises: `OSError`."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    away, number = path.with_name(f"{path.stem}-damaged-{stamp}{path.suffix}"), 1
    while away.exists():  # another one was damaged in this second
        number += 1
        away = path.with_name(f"{path.stem}-damaged-{stamp}-{number}{path.suffix}")
    for suffix in ("-wal", "-shm", ""):  # the file last: without it the rest would be a riddle
        part = Path(f"{path}{suffix}")
        if part.exists():
            os.replace(part, f"{away}{suffix}")
    return f"the history was damaged and is set aside as {away}; a new one begins"


def _kind(error: sqlite3.Error) -> int:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return int(code) & 0xFF  # without what SQLite adds to say it in more detail
