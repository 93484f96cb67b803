"""What a target pass costs by its number of rows: the curve that draft lengths are chosen from.

On quantised kernels the curve is neither straight nor convex (a pass of 4 rows may be cheaper than
one of 3), so nothing is assumed of it but what was measured. Knows no models and no clocks.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Protocol


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
    """Seconds of a pass at some numbers of rows, ascending from 1; straight lines between."""

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
        """Seconds of a pass over `n_rows` rows; beyond the last measured one in proportion."""
        rows, seconds = self.rows, self.seconds
        if n_rows >= rows[-1]:
            return seconds[-1] * n_rows / rows[-1]
        at = bisect_right(rows, n_rows)
        low, high = rows[at - 1], rows[at]
        share = (n_rows - low) / (high - low)
        return seconds[at - 1] + share * (seconds[at] - seconds[at - 1])


class LiveCosts:
    """Measured costs that follow the machine: other work, heat, a growing context.

    Sizes that double share a factor. Only the proportions between sizes matter to a choice: where
    drafting looks dear by mistake, plain steps are taken, seen, and set right.
    """

    _WEIGHT = 0.1
    _LEAST, _MOST = 0.25, 4.0
    """Bounds on one observation: a pass that was interrupted says little."""
    _TABLE = 65

    def __init__(self, measured: PassCosts) -> None:
        self._seconds = [measured.of(max(n, 1)) for n in range(self._TABLE)]
        self._last = measured.of(self._TABLE - 1) / (self._TABLE - 1)
        self._factors = [1.0] * 32

    @property
    def plain_s(self) -> float:
        """A plain step, lately."""
        return self._seconds[1] * self._factors[0]

    def of(self, n_rows: int) -> float:
        """A pass over `n_rows` rows, lately."""
        return self._measured(n_rows) * self._factors[(n_rows - 1).bit_length()]

    def observe(self, n_rows: int, seconds: float) -> None:
        """Let the factor of the size's class follow."""
        cell = (n_rows - 1).bit_length()
        ratio = min(max(seconds / self._measured(n_rows), self._LEAST), self._MOST)
        self._factors[cell] += self._WEIGHT * (ratio - self._factors[cell])

    def _measured(self, n_rows: int) -> float:
        return self._seconds[n_rows] if n_rows < self._TABLE else self._last * n_rows


UNMEASURED = PassCosts((1, 2, 4, 8, 16, 32), (1.0, 1.3, 1.6, 2.9, 4.0, 6.5))
"""A processor's usual curve in units of a plain step, for where nothing was measured."""
