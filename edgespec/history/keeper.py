"""Keeps a running chat on disk without ever holding it up: one thread, one connection.

What is new is written at once, what grows at least every two seconds. When the file cannot be
written, everything unwritten goes into a file of its own beside it, or wherever there is room, and
the database is tried again and again: nothing is ever dropped because a write failed.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from edgespec.errors import HistoryError
from edgespec.history.fallback import Fallback
from edgespec.history.records import ChatRecord, SavedChat, TurnRecord
from edgespec.history.store import HistoryStore
from edgespec.history.unsent import Unsent

logger = logging.getLogger(__name__)

EVERY_S = 2.0
"""Most seconds of a growing answer, or of typing, that may be lost with the process."""


@dataclass(frozen=True, slots=True)
class SaveState:
    """Whether the chat is on disk, as a word and a sentence."""

    word: Literal["SAVED", "PRIVATE", "UNSAVED"]
    note: str = ""
    """What happened, and where the text is kept."""


@dataclass(slots=True)
class _Unwritten:
    """The newest of everything that is not in the database yet."""

    chats: dict[str, ChatRecord] = field(default_factory=dict)
    turns: dict[str, TurnRecord] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    titles: dict[str, str] = field(default_factory=dict)
    """By chat: those that a person gave."""

    @property
    def is_empty(self) -> bool:
        return not (self.chats or self.turns or self.gone or self.titles)


class Keeper:
    """Writes the records of one process's chats."""

    def __init__(
        self,
        path: Path,
        *,
        fallbacks: Sequence[Path] | None = None,
        every_s: float = EVERY_S,
        open_store: Callable[[Path], HistoryStore] = HistoryStore.open,
    ) -> None:
        """Opens the file at once, in the keeper's thread. `fallbacks`: folders for what cannot be
        written to `path`."""
        self.path = path
        self._fallback = Fallback(path, fallbacks)
        self._every_s, self._open_store = every_s, open_store
        self._tell: Callable[[SaveState], None] | None = None
        self._unheard: list[SaveState] = []
        self._chats: dict[str, ChatRecord] = {}
        self._new = _Unwritten()
        self._growing: dict[str, Callable[[], TurnRecord]] = {}
        self._unsent = Unsent(path.parent)
        self._typed: str | None = None
        """What is being typed; None: as it was kept."""
        self._changed = threading.Condition()
        self._n_given = self._n_settled = 0
        self._is_urgent, self._is_closing = True, False
        self._retry_at_s = 0.0
        self._store: HistoryStore | None = None
        self._state = SaveState("SAVED")
        self._thread = threading.Thread(target=self._run, name="edgespec-history", daemon=True)
        self._thread.start()

    # Any thread

    @property
    def state(self) -> SaveState:
        """How the last write went."""
        return self._state

    def listen(self, tell: Callable[[SaveState], None]) -> None:
        """Call `tell` whenever the state changes and for every notice, from the keeper's thread;
        for those of before at once."""
        with self._changed:
            self._tell = tell
            unheard, self._unheard = self._unheard, []
        for state in unheard:
            tell(state)

    def keep(self, chat: ChatRecord | None = None, *turns: TurnRecord) -> None:
        """Write these, soon and together; a chat before its turns."""
        with self._changed:
            if chat is not None:
                self._chats[chat.id] = self._new.chats[chat.id] = chat
            for turn in turns:
                self._growing.pop(turn.id, None)
                self._new.turns[turn.id] = turn
                self._new.gone.discard(turn.id)
            self._hurry()

    def grow(self, turn_id: str, record: Callable[[], TurnRecord]) -> None:
        """Write what `record` gives within `every_s`: it is asked when it is time."""
        with self._changed:
            is_first = not self._growing
            self._growing[turn_id] = record
            if is_first:  # else the keeper knows that something grows
                self._changed.notify_all()

    def name(self, chat: ChatRecord) -> None:
        """Write the title that a person gave: `keep` leaves a chat's title as it is, since another
        process may have given it one."""
        with self._changed:
            self._chats[chat.id] = self._new.chats[chat.id] = chat
            self._new.titles[chat.id] = chat.title
            self._hurry()

    def jot(self, typed: str) -> None:
        """Keep what is being typed within `every_s`, in place of what was; empty: keep nothing."""
        with self._changed:
            is_first = self._typed is None
            self._typed = typed
            self._is_urgent |= not typed  # what was sent must not come back as unsent
            if is_first or not typed:
                self._changed.notify_all()

    def jotted(self) -> str:
        """What was being typed in a process that is no more; the newest, and once."""
        return self._unsent.taken()

    @property
    def lent(self) -> Path:
        """A file for an editor; what it saves there `jotted` finds, should this process die."""
        return self._unsent.lent

    def forget(self, turn_id: str) -> None:
        """Delete a turn."""
        with self._changed:
            self._growing.pop(turn_id, None)
            self._new.turns.pop(turn_id, None)
            self._new.gone.add(turn_id)
            self._hurry()

    def drop(self, chat_id: str) -> None:
        """Write nothing of a chat any more: it was deleted."""
        with self._changed:
            self._growing.clear()  # only the chat that is shown grows
            self._chats.pop(chat_id, None)
            self._new.chats.pop(chat_id, None)
            self._new.titles.pop(chat_id, None)
            turns = self._new.turns.items()
            self._new.turns = {key: turn for key, turn in turns if turn.chat_id != chat_id}

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was given is in the database, or in the fallback file.

        Returns: False when the time was over before.
        """
        with self._changed:
            given = self._n_given
            return self._changed.wait_for(lambda: self._n_settled >= given, timeout_s)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Write what is left and let the file go. Returns: whether the database has it all."""
        with self._changed:
            self._is_closing = True
            self._hurry()
        self._thread.join(timeout_s)
        return not self._thread.is_alive() and self._state.word == "SAVED"

    # The keeper's thread

    def _hurry(self) -> None:
        self._n_given += 1
        self._is_urgent = True
        self._changed.notify_all()

    def _run(self) -> None:
        written_s = 0.0
        while True:
            with self._changed:
                self._wait(written_s)
                is_last, batch, given = self._is_closing, self._taken(), self._n_given
                typed, self._typed = self._typed, None
                self._is_urgent = False
            # With nothing left to write too: what was unsaved may have been dropped meanwhile.
            is_settled = batch.is_empty and self._state.word == "SAVED"
            if not is_settled or self._store is None or not self._store.is_in_place:
                self._write(batch)
            if typed is not None:  # after the batch: what was sent is in there
                self._unsent.keep(typed)
            written_s = time.monotonic()
            with self._changed:
                self._n_settled = given
                self._changed.notify_all()
            if is_last and not self._is_urgent:
                break
        if self._store is not None:
            self._store.close()

    def _wait(self, written_s: float) -> None:
        """Until something is urgent, or what grows is due, or a failed write is to be tried."""
        while not self._is_urgent:
            now_s = time.monotonic()
            is_due = bool(self._growing) or self._typed is not None
            due_s = [written_s + self._every_s] if is_due else []
            if self._state.word != "SAVED":
                due_s.append(self._retry_at_s)
            if due_s and min(due_s) <= now_s:
                return
            self._changed.wait(min(due_s) - now_s if due_s else None)

    def _taken(self) -> _Unwritten:
        for turn_id, record in self._growing.items():
            self._new.turns[turn_id] = record()
        self._growing.clear()
        batch, self._new = self._new, _Unwritten()
        # An answer may end after its chat was dropped.
        batch.turns = {k: turn for k, turn in batch.turns.items() if turn.chat_id in self._chats}
        # A chat's row goes along with its turns: an earlier write may have failed, another process
        # may have deleted it.
        for turn in batch.turns.values():
            batch.chats.setdefault(turn.chat_id, self._chats[turn.chat_id])
        return batch

    def _write(self, batch: _Unwritten) -> None:
        try:
            if self._store is not None and not self._store.is_in_place:
                batch = self._saved_from(self._store, batch)
            store = self._opened()
            store.save(batch.chats.values(), batch.turns.values(), batch.gone, batch.titles)
        except Exception as error:  # whatever it is, the text is kept and the thread lives on
            self._fail(batch, _as_told(error))
            return
        if self._state.word != "SAVED" and self._new.is_empty:  # else the next write says so
            self._fallback.remove()
            self._say(SaveState("SAVED", "the chat is saved in the history again"))
        for notice in store.notices:
            self._say(SaveState("SAVED", notice))
        store.notices.clear()

    def _opened(self) -> HistoryStore:
        if self._store is None:
            self._store = self._open_store(self.path)
            self._store.notices += self._fallback.recovered(self._store)
        return self._store

    def _saved_from(self, lost: HistoryStore, batch: _Unwritten) -> _Unwritten:
        """`batch` with all that was written of its chats to a file that has lost its name.

        Such a file can be read until it is closed; then it is gone, or somebody else's.
        """
        turns: dict[str, TurnRecord] = {}
        for chat_id, chat in self._chats.items():
            with suppress(HistoryError):
                saved = lost.chat(chat_id)
                batch.chats.setdefault(chat_id, chat)
                batch.titles.setdefault(chat_id, saved.chat.title)
                turns |= {turn.id: turn for turn in saved.turns if turn.id not in batch.gone}
        lost.close()
        self._store, batch.turns = None, {**turns, **batch.turns}
        self._say(
            SaveState("UNSAVED", f"{self.path} was deleted or replaced; this chat is written anew")
        )
        return batch

    def _fail(self, batch: _Unwritten, error: HistoryError) -> None:
        logger.info("the history was not written: %s", error.message)
        with self._changed:
            self._take_back(batch)
            self._retry_at_s = time.monotonic() + self._every_s
            unwritten = self._unwritten()
        if unwritten:
            kept = self._fallback.write(unwritten)
        else:
            self._fallback.remove()  # what it holds was dropped
            kept = "this chat goes into a file of its own"
        self._say(SaveState("UNSAVED", f"{error.message}; {kept}"))

    def _take_back(self, batch: _Unwritten) -> None:
        """Make what was not written new again; what came meanwhile is newer, a chat that was
        dropped and a turn that was forgotten stay so."""
        new, is_known = self._new, self._chats.__contains__
        new.chats = {**{k: v for k, v in batch.chats.items() if is_known(k)}, **new.chats}
        new.titles = {**{k: v for k, v in batch.titles.items() if is_known(k)}, **new.titles}
        new.turns = {**{k: v for k, v in batch.turns.items() if k not in new.gone}, **new.turns}
        new.gone |= batch.gone - set(new.turns)

    def _unwritten(self) -> list[SavedChat]:
        """What the database lacks, by chat."""
        turns = self._new.turns.values()
        return [
            SavedChat(chat, tuple(turn for turn in turns if turn.chat_id == chat.id))
            for chat in self._new.chats.values()
        ]

    def _say(self, state: SaveState) -> None:
        if state == self._state:
            return
        self._state = state
        with self._changed:
            tell = self._tell
            if tell is None:
                self._unheard.append(state)
        if tell is not None:
            tell(state)


def _as_told(error: Exception) -> HistoryError:
    if isinstance(error, HistoryError):
        return error
    logger.error("the history was not written", exc_info=error)
    return HistoryError(f"a fault of edgespec's own ({type(error).__name__}: {error})")
