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
_HELD_STATES = 2


class Rollback(Protocol):
    """Shortens sequence 0."""

    @property
    def kind(self) -> Kind:
        """Which class of memory this is."""
        ...

    def shorten(self, n: int) -> int:
        """Keep the first m ≤ n of the resident tokens; the other cells are gone. Gives m."""
        ...

    def hold(self, n: int) -> None:
        """Be able to come back to the n resident tokens, whatever is decoded next."""
        ...

    def before_decode(self, n: int, *, n_rows: int, n_doubtful: int) -> None:
        """Sequence 0 holds n tokens; the coming decode appends `n_rows`, of which the last
        `n_doubtful` may be cut; -1: its rows are not even looked at."""
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

    def hold(self, n: int) -> None:
        """Nothing to save."""

    def before_decode(self, n: int, *, n_rows: int, n_doubtful: int) -> None:
        """Nothing to save."""

    def decoded(self, n_rows: int) -> None:
        """Nothing to note."""


class Snapshot:
    """Recurrent and hybrid memory: native per-token states first, saved states behind them.

    A hybrid's sliding window needs no check of its own, and could have none: the memory's start is
    that of the recurrent state, its last token. A native cut stays inside the last decode, whose
    first token still saw its whole window; a saved state holds the window's cells too
    (llama-kv-cache-iswa.cpp, state_write: only the other layers' cells are left out).
    """

    kind: Kind = "snapshot"

    def __init__(self, context: NativeContext) -> None:
        self._context = context
        self._saved: dict[int, bytes] = {}
        self._held: set[int] = set()
        """Those of the saved states that outlive the others: ends of prompts."""
        self._was_cut = self._was_read = self._is_base = False
        self._n_native = 0
        """How many of the last tokens can be taken back natively: within one decode, once."""

    def shorten(self, n: int) -> int:
        """Keep n tokens natively, else the longest saved state of at most n."""
        end = self._context.end()
        self._was_cut = True
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

    def hold(self, n: int) -> None:
        """Save the state, and keep it longer than others."""
        self._save(n)
        self._held.add(n)

    def before_decode(self, n: int, *, n_rows: int, n_doubtful: int) -> None:
        """Save the state where the native ones will not reach back to it."""
        if n_doubtful > self._context.n_snapshots:
            self._save(n)
        # A draft model takes the context up by such a decode, then appends token by token, and
        # what was refused of that goes again.
        is_taken_up = n_rows > 1 or self._was_cut or self._was_read
        self._is_base = n_doubtful == 0 and is_taken_up
        self._was_read = n_doubtful < 0

    def _save(self, n: int) -> None:
        if n > 0 and n not in self._saved:
            self._saved[n] = self._context.save_state()
        held = sorted(self._held & self._saved.keys())
        passing = sorted(self._saved.keys() - self._held)
        for old in (*held[:-_HELD_STATES], *passing[:-_SAVED_STATES]):
            del self._saved[old]
        self._held.intersection_update(self._saved)

    def decoded(self, n_rows: int) -> None:
        """Native states cover the last decode only, its first token excluded."""
        if n_rows and self._is_base:
            self._save(self._context.end())
        self._was_cut = False
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

    def hold(self, n: int) -> None:
        """Nothing to save."""

    def before_decode(self, n: int, *, n_rows: int, n_doubtful: int) -> None:
        """Nothing to save."""

    def decoded(self, n_rows: int) -> None:
        """Nothing to note."""
