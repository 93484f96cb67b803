"""What a target pass costs by its number of rows: the curve that draft lengths are chosen from.

Pure data. On quantised kernels the curve is neither straight nor convex (a pass of 4 rows may be
cheaper than one of 3), so nothing is assumed of it but what was measured.
"""

from bisect import bisect_right
from dataclasses import dataclass


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


UNMEASURED = PassCosts((1, 2, 4, 8, 16, 32), (1.0, 1.3, 1.6, 2.9, 4.0, 6.5))
"""A processor's usual curve in units of a plain step, for where nothing was measured."""
