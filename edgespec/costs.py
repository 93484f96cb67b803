"""What passes cost by their number of rows: the curve that draft lengths are chosen from.

On quantised kernels the curve is neither straight nor convex (a pass of 4 rows may be cheaper than
one of 3, one of 9 twice one of 8), so nothing is assumed of it but what was measured. Knows no
models and no clocks.
"""

from bisect import bisect_left
from dataclasses import dataclass
from math import inf
from operator import sub
from typing import Protocol

LAST_OF_KERNEL = (8, 16, 32)
"""Rows after which backends take another kernel: nothing measured on one side tells of the other.
Source: llama.cpp's ggml-cuda/mmvq.cu, ggml-metal, ggml-cpu/llamafile and repack."""


class RowCosts(Protocol):
    """Seconds of passes, measured or assumed."""

    @property
    def plain_s(self) -> float:
        """A plain step."""
        ...

    def of(self, n_rows: int) -> float:
        """A pass over `n_rows` rows."""
        ...


@dataclass(frozen=True, slots=True)
class PassCosts:
    """Seconds of a pass at some numbers of rows, ascending from 1."""

    rows: tuple[int, ...]
    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        assert self.rows, "no pass was measured"
        assert self.rows[0] == 1, f"the cheapest pass has 1 row, not {self.rows[0]}"
        assert len(self.rows) == len(self.seconds), f"{self.rows} against {self.seconds}"

    @property
    def plain_s(self) -> float:
        """A plain step."""
        return self.seconds[0]

    def of(self, n_rows: int) -> float:
        """Seconds of a pass over `n_rows` rows.

        On a straight line between two sizes of the same kernel; beyond what was measured of it,
        in proportion to the nearest size; never dearer than the next kernel's first size where
        only that is known.
        """
        rows, seconds = self.rows, self.seconds
        at = bisect_left(rows, n_rows)
        if at < len(rows) and rows[at] == n_rows:
            return seconds[at]
        low = at - 1
        is_low = _kernel(rows[low]) == _kernel(n_rows)
        is_high = at < len(rows) and _kernel(rows[at]) == _kernel(n_rows)
        if is_low and is_high:
            share = (n_rows - rows[low]) / (rows[at] - rows[low])
            return seconds[low] + share * (seconds[at] - seconds[low])
        if is_high:
            return seconds[at]
        if low and _kernel(rows[low - 1]) == _kernel(rows[low]) and is_low:
            slope = (seconds[low] - seconds[low - 1]) / (rows[low] - rows[low - 1])
            return seconds[low] + max(slope, 0.0) * (n_rows - rows[low])
        return seconds[low] * n_rows / rows[low]


def _kernel(n_rows: int) -> int:
    return bisect_left(LAST_OF_KERNEL, n_rows)


_CELLS = (1, 4, 8, 16)
"""Last sizes of the classes that share a factor; larger passes are the fifth."""


def class_of(n_rows: int) -> int:
    """The class of a size."""
    return bisect_left(_CELLS, n_rows)


class LiveCosts:
    """Measured costs that follow the machine: other work, heat, a growing context.

    All costs share what plain steps show; each class of sizes has a factor against them. What was
    measured at the load may be far off, where that was a bad moment: the first few passes of a
    class overrule it.
    """

    _WEIGHT = 0.05
    _LEAST, _MOST = 0.5, 2.0
    """Bounds on one observation: a pass that was interrupted says little."""
    _REFIT = 64
    """Plain steps between two looks at how the cost grows with the context."""
    _SPREAD = 16.0
    """Least standard deviation of the contexts seen that tells a slope."""
    _FIRST = 3
    """Passes of a class whose least tells whether the measurement holds: others on the machine only
    make a pass dearer."""
    _OFF = 1.3
    """How far off it may be."""

    def __init__(self, measured: PassCosts, n_rows: int = 64) -> None:
        self.measured = measured
        plain_s = measured.plain_s
        self.relative = [measured.of(max(n, 1)) / plain_s for n in range(n_rows + 2)]
        """relative[n]: a pass over n rows, lately, in plain steps."""
        self._relative0 = tuple(self.relative)
        self._factors = [1.0] * (len(_CELLS) + 1)
        self._least_more = [self._least_within(cell) for cell in range(len(self._factors))]
        self._plain_s = plain_s
        self._slope = 0.0
        self._context: float | None = None
        """Where `_plain_s` holds; None: wherever was measured."""
        self._seen: list[tuple[int, float]] = []
        self._first: list[list[tuple[int, float]]] = [[] for _ in self._factors]
        """Rows and seconds of each class's first passes."""

    @property
    def is_plain_known(self) -> bool:
        """Whether enough plain steps were seen since the measurement."""
        return len(self._first[0]) == self._FIRST

    @property
    def plain_s(self) -> float:
        """A plain step, lately."""
        return self._plain_s

    def plain_at(self, context: int) -> float:
        """A plain step after `context` tokens, lately."""
        if self._context is None:
            return self._plain_s
        grown = self._plain_s + self._slope * (context - self._context)
        return max(grown, self._LEAST * self._plain_s)

    def of(self, n_rows: int) -> float:
        """A pass over `n_rows` rows, lately."""
        return self._plain_s * self.relative[n_rows]

    def least_more(self) -> list[float]:
        """By class: the least that any row costs which makes a pass one of the class or larger, in
        plain steps. Where a draft's next token is worth less, no further one is worth its row."""
        relative, found = self.relative, self._least_more.copy()
        least = found[-1]
        for cell in range(len(found) - 2, -1, -1):
            first = _CELLS[cell] + 1  # of the next class
            if first < len(relative):
                least = min(least, relative[first] - relative[first - 1])
            found[cell + 1] = least
            least = min(least, found[cell])
        found[0] = least
        return found

    def observe(self, n_rows: int, seconds: float, context: int) -> None:
        """Let the class's factor follow; what a plain step shows moves all."""
        cell = class_of(n_rows)
        expected = self.plain_at(context) * self.relative[n_rows]
        ratio = min(max(seconds / expected, self._LEAST), self._MOST)
        if n_rows == 1:
            self._observe_plain(expected * ratio, context)
        else:
            self._factors[cell] *= 1 + self._WEIGHT * (ratio - 1)
        first_passes = self._first[cell]
        if len(first_passes) < self._FIRST:
            first_passes.append((n_rows, seconds))
            if len(first_passes) == self._FIRST:
                self._check(cell)
        if cell:
            self._spread(cell)

    def _check(self, cell: int) -> None:
        """Overrule the measurement by the first passes, where these say something else."""
        if cell == 0:
            least_s = min(seconds for _, seconds in self._first[0])
            if self._is_off(least_s / self._plain_s):
                self._plain_s = least_s
                for other in range(1, len(self._first)):
                    if len(self._first[other]) == self._FIRST:
                        self._check(other)
                        self._spread(other)
            return
        factor = min(s / (self._plain_s * self._relative0[n]) for n, s in self._first[cell])
        if self._is_off(factor / self._factors[cell]):
            self._factors[cell] = factor

    def _is_off(self, ratio: float) -> bool:
        return not 1 / self._OFF <= ratio <= self._OFF

    def _spread(self, cell: int) -> None:
        """What a class's factor says of each of its sizes."""
        sizes, factor = self._sizes(cell), self._factors[cell]
        self.relative[sizes] = [factor * cost for cost in self._relative0[sizes]]
        self._least_more[cell] = self._least_within(cell)

    def _sizes(self, cell: int) -> slice:
        first = _CELLS[cell - 1] + 1 if cell else 1
        return slice(first, _CELLS[cell] + 1 if cell < len(_CELLS) else None)

    def _least_within(self, cell: int) -> float:
        """The least that a row costs between two sizes of the class."""
        costs = self.relative[self._sizes(cell)]
        return min(map(sub, costs[1:], costs), default=inf)

    def _observe_plain(self, seconds: float, context: int) -> None:
        before = self.plain_at(context)
        self._plain_s = before + self._WEIGHT * (seconds - before)
        self._context = context
        self._seen.append((context, seconds))
        if len(self._seen) == self._REFIT:
            self._refit()
            self._seen.clear()

    def _refit(self) -> None:
        """The slope over the last plain steps, by least squares; never downwards."""
        n = len(self._seen)
        mean_x = sum(x for x, _ in self._seen) / n
        mean_y = sum(y for _, y in self._seen) / n
        spread = sum((x - mean_x) ** 2 for x, _ in self._seen)
        if spread < n * self._SPREAD**2:
            return
        slope = sum((x - mean_x) * (y - mean_y) for x, y in self._seen) / spread
        # Half of what is read off: steps that others slowed down weigh as much as any.
        self._slope += 0.5 * (max(slope, 0.0) - self._slope)


class DraftCosts:
    """What a draft model's work takes, lately."""

    _WEIGHT = 0.1

    def __init__(self, token_s: float, read_s: float) -> None:
        self.token_s = token_s
        """A pass for one drafted token."""
        self.read_s = read_s
        """A token of context, read in a slice."""

    def observe_tokens(self, n_passes: int, seconds: float) -> None:
        """`n_passes` passes, each for one token, took `seconds`."""
        self.token_s += self._WEIGHT * (_clipped(seconds / n_passes, self.token_s) - self.token_s)

    def observe_read(self, n_tokens: int, seconds: float) -> None:
        """A slice of `n_tokens` tokens took `seconds`."""
        self.read_s += self._WEIGHT * (_clipped(seconds / n_tokens, self.read_s) - self.read_s)


def _clipped(seconds: float, usual_s: float) -> float:
    return min(max(seconds, usual_s / 4), usual_s * 4)


UNMEASURED = PassCosts((1, 2, 4, 8, 16, 32), (1.0, 1.3, 1.6, 2.9, 4.0, 6.5))
"""A processor's usual curve in units of a plain step, for where nothing was measured."""

ELSEWHERE = {
    "AMX": PassCosts(
        (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32),
        (1, 1.26, 1.63, 1.37, 1.69, 2.14, 2.83, 2.79, 3.18, 3.01, 3.64, 4.62, 5.27),
    ),
    "CUDA": PassCosts((1, 2, 4, 8, 9, 16, 32, 64), (1, 1.07, 1.28, 1.72, 3.88, 3.95, 4.3, 5.2)),
    "Metal": PassCosts((1, 2, 4, 8, 9, 16, 17, 32, 64), (1, 1.6, 2.9, 5.4, 4.6, 4.8, 4.83, 5.6, 8)),
}
"""Curves of other machines in plain steps, for what cannot be measured here: 2 cores with AMX and
a 1.5B model, measured; one card each with a quantised model, after published measurements (the
sizes over 8 rows of Metal are assumed)."""
