"""Whether a draft model is worth listening to: what became of the tokens that it was sure of.

Knows no models and no clocks: the record follows from what was drafted and committed.
"""

from collections import deque
from collections.abc import Sequence

_LOOKED_AT = 100
_LEAST = 10
"""Tokens are drafted where at least 3 in 10 are expected to be accepted; where not even 1 is, the
model does not know what it says: a damaged file, another model's vocabulary, a broken cache."""


class Record:
    """The last drafted tokens, each accepted or not."""

    def __init__(self) -> None:
        self._is_accepted: deque[bool] = deque(maxlen=_LOOKED_AT)

    def add(self, drafted: Sequence[int], committed: Sequence[int]) -> None:
        """`committed` came after the context that `drafted` was drafted for."""
        pairs = enumerate(zip(drafted, committed, strict=False))
        known = min(len(drafted), len(committed))
        n_accepted = next((i for i, (mine, theirs) in pairs if mine != theirs), known)
        self._is_accepted.extend(i < n_accepted for i in range(len(drafted)))

    @property
    def verdict(self) -> str:
        """What is wrong with the model; empty when nothing is, or too little was seen."""
        n_accepted = sum(self._is_accepted)
        if len(self._is_accepted) < _LOOKED_AT or n_accepted >= _LEAST:
            return ""
        return (
            f"the target accepted {n_accepted} of the draft model's last {_LOOKED_AT} tokens,"
            " of which it was sure"
        )
