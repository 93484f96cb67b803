"""The history's file: one connection, synchronous calls. Whoever must not wait uses `Keeper`.

Every call either is committed to the disk when it returns, or raises `HistoryError` and changed
nothing. Several processes may use the file at once.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from types import MappingProxyType
from typing import Any

from edgespec.errors import HistoryError
from edgespec.history.damage import (
    as_history_error,
    is_damage,
    is_no_access,
    set_aside,
)
from edgespec.history.records import ChatRecord, ChatSummary, Hit, SavedChat, TurnRecord
from edgespec.history.rows import CHAT, TURN, record_of, row_of, upsert
from edgespec.history.schema import MIGRATIONS, migrate, write_ahead
from edgespec.history.search import contains, excerpt, indexed, query, signs
from edgespec.text.turns import encodable

BUSY_S = 2.0
"""So long another process may write before we say that the file is locked."""


class HistoryStore:
    """Chats on disk; any thread, one call at a time."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Take ownership of `connection`."""
        self.path = path
        self.notices: list[str] = []
        """What happened when it was opened: sentences for the person."""
        self._connection = connection
        self._opened_file = _identity(path)
        self._lock = RLock()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        busy_s: float = BUSY_S,
        migrations: Sequence[str] = MIGRATIONS,
        is_checked: bool = True,
    ) -> "HistoryStore":
        """Open for reading and writing; makes the file, or brings it to today's version.

        `is_checked`: look at every page first, which takes a second for some 100 MB. A damaged
        file is set aside, with a notice. Raises: `HistoryError`.
        """
        damaged = _identity(path)
        try:
            return cls._opened(path, busy_s, migrations, is_checked)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise as_history_error(error, path) from error
        try:
            # Another process may have set it aside meanwhile: the new file is a good one.
            notices = [set_aside(path)] if _identity(path) == damaged else []
            store = cls._opened(path, busy_s, migrations, is_checked)
        except (sqlite3.Error, OSError) as error:
            raise as_history_error(error, path) from error
        store.notices += notices
        return store

    @classmethod
    def _opened(
        cls, path: Path, busy_s: float, migrations: Sequence[str], is_checked: bool
    ) -> "HistoryStore":
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise as_history_error(error, path) from error
        connection = _connected(str(path), busy_s)
        try:
            kept = migrate(connection, path, migrations)
            write_ahead(connection)
            connection.execute("PRAGMA synchronous = FULL")  # a power cut loses nothing either
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")  # what is deleted is gone
            if is_checked:
                (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if said != "ok":
                    raise sqlite3.DatabaseError(said)
        except BaseException:
            connection.close()
            raise
        store = cls(connection, path)
        if kept:
            store.notices.append(f"the history was brought up to date; the old file is {kept}")
        return store

    @classmethod
    def open_to_read(cls, path: Path, *, busy_s: float = BUSY_S) -> "HistoryStore":
        """Open a file that is there, to read only. Raises: `HistoryError`."""
        if not is_there(path):
            raise HistoryError("there are no saved chats yet", hint="edgespec starts one")
        # A folder that cannot be written to has no room for the lock file: then nobody writes.
        for options in ("mode=ro", "mode=ro&immutable=1"):
            try:
                connection = _connected(f"{path.absolute().as_uri()}?{options}", busy_s)
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                break
            except sqlite3.Error as error:
                failed = error
                if not is_no_access(error):
                    raise as_history_error(error, path) from error
        else:
            raise as_history_error(failed, path) from failed
        if version < len(MIGRATIONS) or not _has_our_columns(connection):
            connection.close()
            return cls.open(path, busy_s=busy_s)  # older: migrates; newer: says so
        return cls(connection, path)

    @classmethod
    def open_with(cls, path: Path, unsaved: Iterable[SavedChat]) -> "HistoryStore":
        """Open a copy in memory of the file, if there is one, with chats that are not in it yet.

        Raises: `HistoryError`.
        """
        store = cls(_connected(":memory:", BUSY_S), path)
        if is_there(path):
            held = cls.open_to_read(path)
            with held._reading():
                held._connection.backup(store._connection)
            held.close()
        else:
            migrate(store._connection, path)
        for saved in unsaved:
            with suppress(HistoryError):  # the copy is of a newer version: the rest can be read
                store.merge(saved)
        return store

    @property
    def is_in_place(self) -> bool:
        """Whether the file that is written to still has its name: not deleted, not replaced."""
        return _identity(self.path) == self._opened_file

    def close(self) -> None:
        """Let the file go; idempotent."""
        with self._lock:
            self._connection.close()

    # Writing

    def save(
        self,
        chats: Iterable[ChatRecord] = (),
        turns: Iterable[TurnRecord] = (),
        gone: Iterable[str] = (),
        titles: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Write records, replacing those with their ids, and delete the turns `gone`; at once.

        A chat that is here already keeps its title, which another process may have changed, unless
        `titles` gives it one.
        """
        with self._writing() as run:
            for chat in chats:
                run(upsert("chat", CHAT, kept=("title",)), row_of(chat))
            for chat_id, title in titles.items():
                run(_RENAME, (encodable(title), chat_id))
            for turn in turns:
                self._put_turn(run, turn, upsert("turn", TURN))
            for turn_id in gone:
                run("DELETE FROM turn WHERE id = ?", (turn_id,))

    def merge(self, saved: SavedChat) -> int:
        """Add a chat; of a record that is here already the one changed last stays.

        Returns: the number of turns that were new or newer.
        """
        n_taken = 0
        with self._writing() as run:
            run(upsert("chat", CHAT) + _IF_NEWER.format(table="chat"), row_of(saved.chat))
            for turn in saved.turns:
                sql = upsert("turn", TURN) + _IF_NEWER.format(table="turn")
                n_taken += self._put_turn(run, turn, sql)
        return n_taken

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat a title."""
        with self._writing() as run:
            run(_RENAME, (encodable(title), chat_id))

    def delete(self, chat_id: str) -> SavedChat:
        """Delete a chat, from the file's free pages too. Returns: what it was, for `merge`."""
        saved = self.chat(chat_id)
        with self._writing() as run:
            run("DELETE FROM chat WHERE id = ?", (saved.chat.id,))
            run("INSERT INTO words(words) VALUES ('optimize')", ())
        with self._reading():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return saved

    def _put_turn(self, run: "_Run", turn: TurnRecord, sql: str) -> bool:
        if not run(sql, row_of(turn)).rowcount:
            return False
        (n,) = run("SELECT n FROM turn WHERE id = ?", (turn.id,)).fetchone()
        run("DELETE FROM words WHERE rowid = ?", (n,))
        words = (n, indexed(encodable(turn.prompt)), indexed(encodable(turn.text)))
        run("INSERT INTO words (rowid, prompt, answer) VALUES (?, ?, ?)", words)
        return True

    # Reading

    def chats(self, words: str = "", limit: int | None = None) -> list[ChatSummary]:
        """Chats with `words` in title, model or turns, the latest first; None: all of them."""
        sql = (
            "SELECT c.id, c.title, c.target, count(t.n), c.created_s, c.updated_s FROM chat c "
            "LEFT JOIN turn t ON t.chat_id = c.id GROUP BY c.id ORDER BY c.updated_s DESC"
        )
        with self._reading():
            found = [ChatSummary(*row) for row in self._connection.execute(sql)]
            within = self._chats_with(words) if words.strip() else set()
        if words.strip():
            found = [c for c in found if c.id in within or contains(f"{c.title} {c.target}", words)]
        return found[:limit]

    def last(self) -> SavedChat:
        """The chat that was changed last. Raises: `HistoryError` when there is none."""
        if not (chats := self.chats(limit=1)):
            raise HistoryError("there are no saved chats yet", hint="edgespec starts one")
        return self.chat(chats[0].id)

    def chat(self, chat_id: str) -> SavedChat:
        """A chat by its id, or by the beginning of it. Raises: `HistoryError`."""
        typed = chat_id.strip().lower()
        with self._reading():
            sql = f"SELECT {', '.join(CHAT)} FROM chat WHERE"
            # A whole id first: those of chats from elsewhere may be written, or begin, in any way.
            rows = self._connection.execute(f"{sql} id = ?", (encodable(chat_id),)).fetchall()
            if typed and not rows:
                begins = f"{sql} substr(id, 1, ?) = ? LIMIT 2"
                values = (len(typed), encodable(typed))
                rows = self._connection.execute(begins, values).fetchall()
            if len(rows) != 1:
                many = f"several chats begin with '{typed}'" if rows else ""
                raise HistoryError(
                    many or f"there is no chat '{chat_id}'",
                    hint="edgespec history lists the chats with their ids",
                )
            chat = record_of(ChatRecord, CHAT, rows[0])
            sql = f"SELECT {', '.join(TURN)} FROM turn WHERE chat_id = ? ORDER BY n"
            turns = self._connection.execute(sql, (chat.id,)).fetchall()
        return SavedChat(chat, tuple(record_of(TurnRecord, TURN, row) for row in turns))

    def search(self, words: str, limit: int = 50) -> list[Hit]:
        """Turns with all of `words`, the latest first."""
        if (found := _with(words)) is None:
            return []
        those, values = found
        sql = (
            "SELECT c.id, t.id, c.title, t.prompt, t.text, t.updated_s FROM turn t "
            f"JOIN chat c ON c.id = t.chat_id WHERE {those} "
            "ORDER BY t.updated_s DESC, t.n DESC LIMIT ?"
        )
        with self._reading():
            rows = self._connection.execute(sql, (*values, limit)).fetchall()
        return [_hit(words, *row) for row in rows]

    def prompts(self, limit: int = 200) -> list[str]:
        """The messages that were sent last in any chat, each once, the latest at the end."""
        sql = "SELECT prompt FROM turn GROUP BY prompt ORDER BY max(created_s) DESC LIMIT ?"
        with self._reading():
            return [row[0] for row in self._connection.execute(sql, (limit,))][::-1]

    def check(self) -> list[str]:
        """What is wrong with the file, by a look at all of it; empty: nothing."""
        with self._reading():
            said = [row[0] for row in self._connection.execute("PRAGMA integrity_check")]
            orphans = self._connection.execute("PRAGMA foreign_key_check").fetchall()
        wrong = [] if said == ["ok"] else said
        return [*wrong, *(f"turn {row[1]} belongs to no chat" for row in orphans)]

    def _chats_with(self, words: str) -> set[str]:
        if (found := _with(words)) is None:
            return set()
        those, values = found
        sql = f"SELECT DISTINCT chat_id FROM turn t WHERE {those}"
        return {row[0] for row in self._connection.execute(sql, values)}

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            raise as_history_error(error, self.path) from error

    @contextmanager
    def _writing(self) -> Iterator["_Run"]:
        with self._reading():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have rolled back already
                    self._connection.execute("ROLLBACK")
                raise


_Run = Callable[[str, tuple[Any, ...]], sqlite3.Cursor]
_RENAME = "UPDATE chat SET title = ? WHERE id = ?"
_IF_NEWER = " WHERE excluded.updated_s > {table}.updated_s"


def is_there(path: Path) -> bool:
    """Whether there is a file of that name. Raises: `HistoryError` where one cannot even look."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise as_history_error(error, path) from error
    return True


def _connected(name: str, busy_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        name,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
        uri=name.startswith("file:"),
    )


def _with(words: str) -> tuple[str, tuple[str, ...]] | None:
    """The condition on a turn `t` to have all of `words`, and its values; None: there are none."""
    asked, pictures = query(words), signs(words)
    those = ["t.n IN (SELECT rowid FROM words WHERE words MATCH ?)"] if asked else []
    those += ["instr(t.prompt || t.text, ?)"] * len(pictures)
    values = (asked, *pictures) if asked else pictures
    return (" AND ".join(those), values) if those else None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _has_our_columns(connection: sqlite3.Connection) -> bool:
    """Whether a file, maybe of a newer version, has what is read here."""
    try:
        for table, names in (("chat", CHAT), ("turn", TURN), ("words", ("prompt", "answer"))):
            connection.execute(f"SELECT {', '.join(names)} FROM {table} LIMIT 0")
    except sqlite3.Error:
        return False
    return True


def _hit(
    words: str, chat_id: str, turn_id: str, title: str, prompt: str, text: str, updated_s: float
) -> Hit:
    line, spans = excerpt(prompt, words)
    in_answer = excerpt(text, words)
    if len(in_answer[1]) > len(spans):
        return Hit(chat_id, turn_id, title, "assistant", *in_answer, updated_s)
    return Hit(chat_id, turn_id, title, "user", line, spans, updated_s)
