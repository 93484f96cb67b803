"""How a pull tells what it is doing: a callback, called often enough to cancel by raising in it."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Phase = Literal["wait", "download", "join", "verify"]
"""wait: another process is fetching the same model."""

_INTERVAL_S = 0.1
_WINDOW_S = 5.0


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


Tell = Callable[[PullProgress], None]
"""Called from the pulling thread at least five times a second; an exception cancels the pull."""


def ignore(_: PullProgress) -> None:
    """Tell nobody."""


class Meter:
    """Turns byte counts of one phase into states, at most ten a second."""

    def __init__(
        self, tell: Tell, file: str, phase: Phase, source: str, total_bytes: int | None
    ) -> None:
        self._tell = tell
        self._file = file
        self._phase: Phase = phase
        self._source = source
        self._total_bytes = total_bytes
        self._seen: deque[tuple[float, int]] = deque()
        self._told_s = float("-inf")

    def at(self, done_bytes: int) -> None:
        """Say that `done_bytes` are done; the first state and the complete one are always told."""
        now_s = time.monotonic()
        if now_s - self._told_s < _INTERVAL_S and done_bytes != self._total_bytes:
            return
        self._told_s = now_s
        self._seen.append((now_s, done_bytes))
        while now_s - self._seen[0][0] > _WINDOW_S and len(self._seen) > 2:
            self._seen.popleft()
        since_s, before = self._seen[0]
        rate = (done_bytes - before) / (now_s - since_s) if now_s > since_s else None
        self._tell(
            PullProgress(self._file, self._phase, self._source, done_bytes, self._total_bytes, rate)
        )

    def after(self, before_bytes: int) -> Callable[[int], None]:
        """Says what is done beyond `before_bytes`."""
        return lambda done_bytes: self.at(before_bytes + done_bytes)
