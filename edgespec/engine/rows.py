"""Logits of one pass as views of native memory, with an enforced lifetime."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from edgespec.core import Row


class Rows:
    """Implements `core.Logits`: valid until its session's next `forward`, then `expire`d."""

    def __init__(
        self,
        data: npt.NDArray[np.float32] | None,
        n_trunk: int,
        branch_lengths: Sequence[int],
        n_decoded: int,
    ) -> None:
        self._data = data
        self._n_trunk = n_trunk
        self._branch_lengths = branch_lengths
        self.n_decoded = n_decoded

    @staticmethod
    def none() -> "Rows":
        """No rows."""
        return Rows(None, 0, (), 0)

    def __len__(self) -> int:
        return self._n_trunk

    def __getitem__(self, i: int) -> Row:
        """Row i of the trunk, read-only."""
        assert 0 <= i < self._n_trunk, f"row {i} of {self._n_trunk}"
        return self._row(i)

    def branch(self, b: int) -> Sequence[Row]:
        """Rows of branch b's tokens, read-only."""
        start = self._n_trunk + sum(self._branch_lengths[:b])
        return [self._row(i) for i in range(start, start + self._branch_lengths[b])]

    def _row(self, i: int) -> Row:
        assert self._data is not None, "these logits died with the session's next forward"
        row: Row = self._data[i]
        row.flags.writeable = False
        return row

    def expire(self, *, poison: bool) -> None:
        """End the lifetime; with `poison`, views kept too long read NaN instead of other rows."""
        if poison and self._data is not None:
            self._data.fill(np.nan)
        self._data = None
