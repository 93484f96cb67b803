"""The tokens still in play on a row, and the distribution over those that are left."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from edgespec.core import Dist, Mask, Row, Tokens
from edgespec.sampling.select import Floats, Index, where

_Array = TypeVar("_Array", Row, Floats)
_DOUBLE_UP_TO = 4096
"""Larger pools are exponentiated in float32: 0.2 instead of 2 ms at 151,936 tokens. The relative
error of 1e-6 is that of the logits themselves."""
_COLDEST = 1e-20
"""A smaller positive temperature would overflow float32 and changes nothing."""


class Pool:
    """Candidates, never empty once a law is asked for. What a cut leaves of a vocabulary is
    gathered only when it is looked at: mostly either the logits or the weights are."""

    __slots__ = ("_logits", "_peak", "_weights", "chosen")

    def __init__(
        self,
        chosen: Tokens | None,
        logits: "Row | _Part[Row]",
        peak: np.float32 | None = None,
        weights: "Floats | _Part[Floats] | None" = None,
    ) -> None:
        self.chosen = chosen
        """Their ids, ascending; None: the whole vocabulary."""
        self._logits = logits
        self._peak = peak
        self._weights = weights

    def __len__(self) -> int:
        return len(self._logits)

    @property
    def ids(self) -> Tokens:
        """Token ids, ascending."""
        return _all_ids(len(self)) if self.chosen is None else self.chosen

    @property
    def logits(self) -> Row:
        """[len(pool)], finite."""
        if isinstance(self._logits, _Part):
            self._logits = self._logits.gathered()
        return self._logits

    @property
    def peak(self) -> np.float32:
        """The largest logit; -inf in an empty pool."""
        if self._peak is None:
            self._peak = np.max(self.logits, initial=np.float32(-np.inf))
        return self._peak

    @property
    def weights(self) -> Floats:
        """Unnormalised probabilities at temperature 1."""
        if isinstance(self._weights, _Part):
            self._weights = self._weights.gathered()
        return self.weights_at(1) if self._weights is None else self._weights

    def weights_at(self, temperature: float) -> Floats:
        """Unnormalised probabilities at `temperature`: a new array."""
        weights = self.offsets()
        if temperature != 1:
            weights *= weights.dtype.type(1 / max(temperature, _COLDEST))
        return np.exp(weights, out=weights)

    def offsets(self) -> Floats:
        """logit - best of each candidate: a new array."""
        precision = np.float64 if len(self) <= _DOUBLE_UP_TO else np.float32
        found: Floats = np.subtract(self.logits, self.peak, dtype=precision)
        return found

    def take(
        self, index: Index, weights: Floats | None = None, peak: np.float32 | None = None
    ) -> "Pool":
        """The candidates at the ascending `index`; `weights`: those of this pool, `peak`: the
        largest logit of the new one, if at hand."""
        ids = index.astype(np.int32) if self.chosen is None else self.chosen[index]
        logits = _Part(self.logits, index)
        if weights is None or len(index) <= _DOUBLE_UP_TO:
            return Pool(ids, logits, peak)  # Few can have more exact ones.
        return Pool(ids, logits, peak, _Part(weights, index))

    def keep(
        self, mask: Mask, weights: Floats | None = None, peak: np.float32 | None = None
    ) -> "Pool":
        """The candidates where `mask` holds; the others as in `take`."""
        return self.take(where(mask), weights, peak)

    def above(self, floor: float) -> "Pool":
        """The candidates with a logit of at least `floor`, which the best one has."""
        is_high = self.logits >= floor
        if is_high.all():
            return self
        return self.keep(is_high, None if self._weights is None else self.weights, self.peak)


@dataclass(frozen=True, slots=True, eq=False)
class _Part(Generic[_Array]):
    """Some entries of an array, not gathered yet."""

    array: _Array
    index: Index

    def __len__(self) -> int:
        return len(self.index)

    def gathered(self) -> _Array:
        """A new array of them."""
        # "clip": a third faster, as nobody checks again that `index` is in range.
        found: _Array = self.array.take(self.index, mode="clip")
        return found


def whole(logits: Row) -> Pool:
    """All tokens that are not banned (-inf)."""
    return unbanned(Pool(None, logits))


def unbanned(pool: Pool) -> Pool:
    """Less the tokens that are banned."""
    logits = pool.logits
    return pool.keep(logits > -np.inf, peak=pool.peak) if logits.min() == -np.inf else pool


@lru_cache(maxsize=4)
def _all_ids(n: int) -> Tokens:
    """0..n-1, shared: two distributions over the whole vocabulary then have the same `ids`."""
    ids = np.arange(n, dtype=np.int32)
    ids.flags.writeable = False
    return ids


def softmax(pool: Pool, temperature: float) -> Dist:
    """The pool's distribution; tokens whose probability underflows are left out."""
    weights = pool.weights if temperature == 1 else pool.weights_at(temperature)
    ids = pool.ids
    if not weights.min() > 0:
        kept = np.flatnonzero(weights)
        ids, weights = ids[kept], weights[kept]
    probs = weights.astype(np.float64, copy=False)
    probs /= probs.sum()
    return Dist(ids, probs)
