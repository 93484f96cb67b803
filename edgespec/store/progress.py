"""How a pull tells what it is doing: a callback, called often enough to cancel by raising in it."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Phase = Literal["wait", "download", "join", "verify"]
"""wait: another process is fetching the same model."""
_WORDS: dict[Phase, str] = {
    "wait": "waiting for another process that fetches",
    "download": "fetching",
    "join": "joining",
    "verify": "checking",
}

_INTERVAL_S = 0.1
_WINDOW_S = 5.0
_STALL_S = 5.0


@dataclass(frozen=True, slots=True)
class PullProgress:
    """One state of a pull."""

    file: str
    phase: Phase
    source: str
    """Where the bytes come from, in words."""
    done_bytes: int
    """Of this phase; what an earlier pull left counts as done."""
    total_bytes: int | None
    bytes_per_s: float | None
    """Over the last seconds; None until two states are known."""
    stalled_s: float = 0.0
    """How long no byte has come, once that is worth saying; else 0."""
    note: str = ""
    """A sentence for the person: why it waits, starts again, or what was pinned; else empty."""
    kind: Literal["pull"] = "pull"

    @property
    def doing(self) -> str:
        """The phase in words, for a name to follow."""
        return _WORDS[self.phase]

    @property
    def left_s(self) -> float | None:
        """Time to the end of this phase at the current rate; None while that is not known."""
        if not self.bytes_per_s or not self.total_bytes or self.stalled_s:
            return None
        return max(0, self.total_bytes - self.done_bytes) / self.bytes_per_s


Tell = Callable[[PullProgress], None]
"""Called from the pulling thread at least five times a second; an exception cancels the pull."""


def ignore(_: PullProgress) -> None:
    """Tell nobody."""


class Meter:
    """Turns byte counts of one phase into states, at most ten a second."""

    def __init__(
        self,
        tell: Tell,
        file: str,
        phase: Phase,
        source: str,
        total_bytes: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._file = file
        self._phase: Phase = phase
        self._source = source
        self._total_bytes = total_bytes
        self._note = ""
        self._seen: deque[tuple[float, int]] = deque()
        self._told_s = float("-inf")
        self._moved_s = clock()
        self._done_bytes = 0

    def at(self, done_bytes: int) -> None:
        """Say that `done_bytes` are done; the first state and the complete one are always told."""
        now_s = self._clock()
        if done_bytes != self._done_bytes:
            if done_bytes > self._done_bytes:
                self._note = ""
            if done_bytes < self._done_bytes or now_s - self._moved_s > _STALL_S:
                self._seen.clear()  # started over, or again: the rate counts from here
            self._moved_s, self._done_bytes = now_s, done_bytes
        if now_s - self._told_s < _INTERVAL_S and done_bytes != self._total_bytes:
            return
        self._show(now_s)

    def tick(self) -> None:
        """Say that nothing changed."""
        self.at(self._done_bytes)

    def say(self, note: str) -> None:
        """Tell `note` at once, and with every state until bytes come again."""
        self._note = note
        self._show(self._clock())

    def after(self, before_bytes: int) -> Callable[[int], None]:
        """Says what is done beyond `before_bytes`."""
        return lambda done_bytes: self.at(before_bytes + done_bytes)

    def _show(self, now_s: float) -> None:
        self._told_s = now_s
        self._seen.append((now_s, self._done_bytes))
        while now_s - self._seen[0][0] > _WINDOW_S and len(self._seen) > 2:
            self._seen.popleft()
        since_s, before = self._seen[0]
        rate = (self._done_bytes - before) / (now_s - since_s) if now_s > since_s else None
        still_s = now_s - self._moved_s
        self._tell(
            PullProgress(
                self._file,
                self._phase,
                self._source,
                self._done_bytes,
                self._total_bytes,
                rate,
                still_s if still_s > _STALL_S and self._phase == "download" else 0.0,
                self._note,
            )
        )
