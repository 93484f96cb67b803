"""Logits of one pass as views of native memory; in check mode they cannot be misused.

Checks make a view read-only, and let it read NaN once its lifetime is over.
"""

import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from edgespec.core import Branch, Row

IS_CHECKING = os.environ.get("EDGESPEC_CHECK", "") not in ("", "0")


class Rows:
    """Implements `core.Logits`: valid until its session's next `forward`, then `expire`d."""

    def __init__(
        self,
        data: npt.NDArray[np.float32] | None,
        n_trunk: int,
        branches: Sequence[Branch],
        n_decoded: int,
    ) -> None:
        self._data = data
        self._n_trunk = n_trunk
        self._branches = branches
        self.n_decoded = n_decoded

    @staticmethod
    def none() -> "Rows":
        """No rows."""
        return Rows(None, 0, (), 0)

    def __len__(self) -> int:
        return self._n_trunk

    def __getitem__(self, i: int) -> Row:
        """Row i of the trunk, not to be written to."""
        assert 0 <= i < self._n_trunk, f"row {i} of {self._n_trunk}"
        return self._row(i)

    def branch(self, b: int) -> Sequence[Row]:
        """Rows of branch b's tokens, not to be written to."""
        start = self._n_trunk + sum(len(before.tokens) for before in self._branches[:b])
        return [self._row(start + j) for j in range(len(self._branches[b].tokens))]

    def _row(self, i: int) -> Row:
        assert self._data is not None, "these logits died with the session's next forward"
        row: Row = self._data[i]
        if IS_CHECKING:  # not every day: numpy's argmax copies a read-only row first
            row.flags.writeable = False
        return row

    def expire(self) -> None:
        """End the lifetime: views kept too long may read other rows."""
        if IS_CHECKING and self._data is not None:
            self._data.fill(np.nan)
        self._data = None
