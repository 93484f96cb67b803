"""How a cache is shortened: three classes of memory, one post-condition.

`shorten(n)` leaves sequence 0 with its first m ≤ n tokens and gives m; the session decodes what is
missing. So a class changes the cost of a step, never its result.

TRIM      attention: cells at the end are dropped; a sliding window may already have lost cells
          that the shorter sequence would see, which `start` tells (llama.cpp keeps every position
          between start and end: src/llama-kv-cache.cpp, apply_ubatch).
SNAPSHOT  recurrent and hybrid: the state has no past. llama.cpp keeps the states of the last
          tokens of a decode where the architecture allows it; elsewhere states are saved before
          tokens that may be refused.
REPLAY    everything is forgotten and decoded again.
"""

from typing import Literal, Protocol

from edgespec.engine.context import NativeContext

Kind = Literal["trim", "snapshot", "replay"]
_SAVED_STATES = 3


class Rollback(Protocol):
    """Shortens sequence 0."""

    @property
    def kind(self) -> Kind:
        """Which class of memory this is."""
        ...

    def shorten(self, n: int) -> int:
        """Keep the first m ≤ n of the resident tokens; the other cells are gone. Gives m."""
        ...

    def before_decode(self, n: int, *, n_doubtful: int) -> None:
        """Sequence 0 holds n tokens; the coming decode ends with `n_doubtful` that may be cut."""
        ...

    def decoded(self, n_rows: int) -> None:
        """The last decode appended `n_rows` tokens to sequence 0 (0 after a fault)."""
        ...


class Trim:
    """Attention memory, sliding windows included."""

    kind: Kind = "trim"

    def __init__(self, context: NativeContext, window: int) -> None:
        self._context = context
        self._window = window
        """Sliding window in tokens; 0 without one."""

    def shorten(self, n: int) -> int:
        """Keep n tokens if the next one would still see its whole window."""
        if n == 0 or not self._context.remove(0, n) or not self._sees_window(n):
            self._context.clear()
            return 0
        return n

    def _sees_window(self, n: int) -> bool:
        if self._window == 0:
            return True
        # A token at position n sees positions above n - window (llama-hparams.h, is_masked_swa).
        # A window that slid past n is empty after the cut, and reports no end.
        is_there = self._context.end() == n
        return is_there and self._context.start() <= max(0, n - self._window + 1)

    def before_decode(self, n: int, *, n_doubtful: int) -> None:
        """Nothing to save."""

    def decoded(self, n_rows: int) -> None:
        """Nothing to note."""


class Snapshot:
    """Recurrent and hybrid memory: native per-token states first, saved states behind them."""

    kind: Kind = "snapshot"

    def __init__(self, context: NativeContext) -> None:
        self._context = context
        self._saved: dict[int, bytes] = {}
        self._n_native = 0
        """How many of the last tokens can be taken back natively: within one decode, once."""

    def shorten(self, n: int) -> int:
        """Keep n tokens natively, else the longest saved state of at most n."""
        end = self._context.end()
        self._saved = {at: state for at, state in self._saved.items() if at <= n}
        if 0 < n < end and end - n <= self._n_native and self._context.remove(0, n):
            self._n_native = 0  # llama.cpp allows one pending rollback until the next decode
            return n
        for at in sorted(self._saved, reverse=True):
            if self._restore(at):
                return at
            del self._saved[at]
        self._context.clear()
        self._saved.clear()
        self._n_native = 0
        return 0

    def _restore(self, n: int) -> bool:
        self._n_native = 0
        if not self._context.load_state(self._saved[n]):
            return False
        self._context.remove(0, n)  # the attention layers of a hybrid model
        return self._context.end() == n

    def before_decode(self, n: int, *, n_doubtful: int) -> None:
        """Save the state where the native ones will not reach."""
        if n_doubtful > self._context.n_snapshots and n > 0 and n not in self._saved:
            self._saved[n] = self._context.save_state()
            for old in sorted(self._saved)[:-_SAVED_STATES]:
                del self._saved[old]

    def decoded(self, n_rows: int) -> None:
        """Native states cover the last decode only, its first token excluded."""
        self._n_native = min(self._context.n_snapshots, max(0, n_rows - 1))


class Replay:
    """Forget and decode again: always right, always slow."""

    kind: Kind = "replay"

    def __init__(self, context: NativeContext) -> None:
        self._context = context

    def shorten(self, n: int) -> int:
        """Keep nothing."""
        self._context.clear()
        return 0

    def before_decode(self, n: int, *, n_doubtful: int) -> None:
        """Nothing to save."""

    def decoded(self, n_rows: int) -> None:
        """Nothing to note."""
