"""The tables, and how a file of an older version becomes one of today's.

A migration runs in one transaction, after a copy of the whole file was made beside it. A file of a
newer version is refused and not touched.
"""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep

from edgespec.errors import HistoryError
from edgespec.history.damage import is_locked

_RETRY_S = 0.01
APPLICATION_ID = 0x65647370
""""edsp": tells our file from any other SQLite file."""

MIGRATIONS = (
    """
    CREATE TABLE chat (
        id TEXT PRIMARY KEY, title TEXT NOT NULL, system TEXT NOT NULL, target TEXT NOT NULL,
        draft TEXT NOT NULL, settings TEXT NOT NULL, summary TEXT NOT NULL,
        window_id TEXT NOT NULL, head_id TEXT NOT NULL,
        created_s REAL NOT NULL, updated_s REAL NOT NULL
    );
    CREATE TABLE turn (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
        chat_id TEXT NOT NULL REFERENCES chat(id) ON DELETE CASCADE, parent_id TEXT NOT NULL,
        prompt TEXT NOT NULL, text TEXT NOT NULL, reasoning TEXT NOT NULL, status TEXT NOT NULL,
        error TEXT NOT NULL, stats TEXT NOT NULL, target TEXT NOT NULL, draft TEXT NOT NULL,
        settings TEXT NOT NULL, created_s REAL NOT NULL, updated_s REAL NOT NULL
    );
    CREATE INDEX turn_of_chat ON turn(chat_id);
    CREATE VIRTUAL TABLE words USING fts5(prompt, answer, tokenize="unicode61");
    CREATE TRIGGER turn_gone AFTER DELETE ON turn
        BEGIN DELETE FROM words WHERE rowid = old.n; END;
    """,
)
"""The n-th makes version n + 1 out of version n. `words` holds what `search.indexed` makes of a
turn, under the turn's `n`."""


def migrate(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS
) -> Path | None:
    """Bring the file to the newest version. Returns: the copy that was made before, if one was.

    Raises: `HistoryError` for a newer version or a file of something else; `sqlite3.Error`.
    """
    with _Transaction(connection, "DEFERRED"):
        version = _version(connection, path, len(migrations))
    if version == len(migrations):
        return None
    write_ahead(connection)
    kept = None
    with _Transaction(connection, "IMMEDIATE"):
        version = _version(connection, path, len(migrations))  # another process may have done it
        if version and version < len(migrations):
            kept = _copied(path, version)
        for number in range(version, len(migrations)):
            for statement in _statements(migrations[number]):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    return kept


def write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to write-ahead logging, which is for good. Raises: `sqlite3.Error`.

    SQLite itself does not wait here for others, as it does elsewhere: two that open a new file at
    once would meet.
    """
    (busy_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    until_s = monotonic() + busy_ms / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not is_locked(error) or monotonic() >= until_s:
                raise
        sleep(_RETRY_S)


def _version(connection: sqlite3.Connection, path: Path, known: int) -> int:
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if n_tables and owner != APPLICATION_ID:
        raise HistoryError(
            f"{path} is a database of something else, not edgespec's history",
            hint="move it away, and edgespec begins a history of its own",
        )
    if version > known:
        raise HistoryError(
            f"the history was written by a newer edgespec (version {version} of the file, "
            f"this one knows {known}); it is left as it is",
            hint="update edgespec to read and continue it",
        )
    return int(version)


def _copied(path: Path, version: int) -> Path:
    """A copy of the file as it was last committed."""
    copy = path.with_name(f"{path.stem}-before-version-{version + 1}{path.suffix}")
    part = copy.with_name(copy.name + ".part")
    part.unlink(missing_ok=True)
    # Connections of their own: the one that migrates is inside its transaction.
    source, target = sqlite3.connect(path), sqlite3.connect(part)
    try:
        source.backup(target)
    finally:
        source.close()
        target.close()
    os.replace(part, copy)
    return copy


def _statements(script: str) -> list[str]:
    """`executescript` would commit: the statements one by one instead."""
    statements, gathered = [], ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            statements.append(gathered)
            gathered = ""
    assert not gathered.strip(), gathered
    return statements


class _Transaction:
    """One view of the file, in IMMEDIATE one that nobody writes beside; an exception undoes it."""

    def __init__(self, connection: sqlite3.Connection, kind: str) -> None:
        self._connection, self._kind = connection, kind

    def __enter__(self) -> None:
        self._connection.execute(f"BEGIN {self._kind}")

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._connection.execute("ROLLBACK" if kind else "COMMIT")
