"""The seam between a conversation and the disk: what the controller asks of whoever keeps it."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from edgespec.history.keeper import SaveState
from edgespec.history.records import ChatRecord, TurnRecord


class Journal(Protocol):
    """Keeps records; no call waits for the disk but `flush` and `close`."""

    @property
    def state(self) -> SaveState:
        """How the last write went."""
        ...

    def listen(self, tell: Callable[[SaveState], None]) -> None:
        """Call `tell` from any thread whenever the state changes."""
        ...

    def keep(self, chat: ChatRecord | None = None, *turns: TurnRecord) -> None:
        """Write these soon, replacing those with their ids."""
        ...

    def grow(self, turn_id: str, record: Callable[[], TurnRecord]) -> None:
        """Write what `record` gives within two seconds."""
        ...

    def name(self, chat: ChatRecord) -> None:
        """Write the title that a person gave; `keep` leaves a chat's title as it is."""
        ...

    def jot(self, typed: str) -> None:
        """Keep what is being typed, within two seconds; empty: keep nothing."""
        ...

    def jotted(self) -> str:
        """What was being typed in a process that is no more; once."""
        ...

    @property
    def lent(self) -> Path | None:
        """A file for an editor, made by who needs it; what is saved there `jotted` finds, should
        this process die. None: nothing is kept."""
        ...

    def forget(self, turn_id: str) -> None:
        """Delete a turn."""
        ...

    def drop(self, chat_id: str) -> None:
        """Write nothing of a chat any more."""
        ...

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all of it is on the disk, one way or another."""
        ...

    def close(self, timeout_s: float = ...) -> bool:
        """Write what is left. Returns: whether all of it is in the history."""
        ...


class Nowhere:
    """The `Journal` of private chats."""

    state = SaveState("PRIVATE")

    def listen(self, tell: Callable[[SaveState], None]) -> None:
        """Has nothing to tell."""

    def keep(self, chat: ChatRecord | None = None, *turns: TurnRecord) -> None:
        """Keeps nothing."""

    def grow(self, turn_id: str, record: Callable[[], TurnRecord]) -> None:
        """Keeps nothing."""

    def name(self, chat: ChatRecord) -> None:
        """Keeps nothing."""

    def jot(self, typed: str) -> None:
        """Keeps nothing."""

    def jotted(self) -> str:
        """Has kept nothing."""
        return ""

    @property
    def lent(self) -> None:
        """Keeps nothing."""
        return None

    def forget(self, turn_id: str) -> None:
        """Has kept nothing."""

    def drop(self, chat_id: str) -> None:
        """Has kept nothing."""

    def flush(self, timeout_s: float | None = None) -> bool:
        """Has nothing to wait for."""
        return True

    def close(self, timeout_s: float = 0.0) -> bool:
        """Has nothing to close."""
        return True
