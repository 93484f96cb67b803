"""The tokens still in play on a row, and how each truncation narrows them.

Every truncation is a pure `Pool` to `Pool` function with llama.cpp's meaning; ties that a sort
would break by accident go to the lower token id. Source: llama.cpp src/llama-sampler.cpp.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from edgespec.core import Dist, Mask, Row, Tokens
from edgespec.sampling.select import Floats, Index, chunks, heaviest, highest

_DOUBLE_UP_TO = 4096
"""Larger pools are exponentiated in float32: 0.2 instead of 2 ms at 151,936 tokens. The relative
error of 1e-6 is that of the logits themselves."""
_NEAR = 8.0
"""Tokens this close to the best hold most of a peaked row's mass: worth a look before the rest."""
_WEIGHTLESS = 100.0
"""Tokens this far below the best have no mass that float64 could add to the best one's."""
_COLDEST = 1e-20
"""A smaller positive temperature would overflow float32 and changes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Candidates, never empty once a law is asked for."""

    chosen: Tokens | None
    """Their ids, ascending; None: the whole vocabulary."""
    logits: Row
    """[len(pool)], finite."""
    peak: np.float32
    """The largest logit."""

    @staticmethod
    def of(chosen: Tokens | None, logits: Row) -> "Pool":
        """A pool that finds its own peak; -inf when it is empty."""
        return Pool(chosen, logits, np.max(logits, initial=np.float32(-np.inf)))

    def __len__(self) -> int:
        return len(self.logits)

    @property
    def ids(self) -> Tokens:
        """Token ids, ascending."""
        return _all_ids(len(self)) if self.chosen is None else self.chosen

    def take(self, index: Index) -> "Pool":
        """The candidates at the ascending `index`."""
        ids = index.astype(np.int32) if self.chosen is None else self.chosen[index]
        return Pool.of(ids, self.logits[index])

    def keep(self, mask: Mask) -> "Pool":
        """The candidates where `mask` holds."""
        return self.take(np.flatnonzero(mask))


def whole(logits: Row) -> Pool:
    """All tokens that are not banned (-inf)."""
    pool = Pool.of(None, logits)
    return pool.take(np.flatnonzero(logits > -np.inf)) if logits.min() == -np.inf else pool


@lru_cache(maxsize=4)
def _all_ids(n: int) -> Tokens:
    """0..n-1, shared: two distributions over the whole vocabulary then have the same `ids`."""
    ids = np.arange(n, dtype=np.int32)
    ids.flags.writeable = False
    return ids


def top_k(pool: Pool, k: int) -> Pool:
    """The k largest logits; 0: all."""
    return pool.take(highest(pool.logits, k)) if 0 < k < len(pool) else pool


def typical_p(pool: Pool, p: float) -> Pool:
    """The tokens whose surprise is closest to the entropy, up to more than mass p."""
    if p >= 1:
        return pool
    pool = _above(pool, float(pool.peak) - _WEIGHTLESS)
    offsets = _offsets(pool)
    weights = np.exp(offsets)
    total = float(weights.sum())
    # entropy = log(total) - mean offset, surprise = log(total) - offset: the logarithms cancel.
    offsets -= offsets.dtype.type(_sum_of_products(weights, offsets) / total)
    closeness = np.negative(np.abs(offsets, out=offsets), out=offsets)
    return pool.keep(heaviest(closeness, weights, p * total, side="right"))


def top_p(pool: Pool, p: float, floor: float) -> Pool:
    """The fewest most probable tokens that hold mass p.

    Tokens with a logit below `floor` may be missing: min-p cuts them next, so that the boundary
    need not be looked for among them.
    """
    if p >= 1:
        return pool
    pool = _above(pool, float(pool.peak) - _WEIGHTLESS)
    weights = _offsets(pool)
    np.exp(weights, out=weights)
    mass = p * float(weights.sum())
    reach = float(pool.peak) - _NEAR
    is_near = pool.logits >= max(floor, reach)
    if np.count_nonzero(is_near) <= len(pool) // 8:
        near = np.flatnonzero(is_near)
        light = weights[near]
        if light.sum() >= mass:
            return pool.take(near[np.flatnonzero(heaviest(pool.logits[near], light, mass))])
        if floor >= reach:
            return pool.take(near)
    return pool.keep(heaviest(pool.logits, weights, mass))


def min_p(pool: Pool, p: float) -> Pool:
    """The tokens at least p times as probable as the best one; 0: all."""
    return _above(pool, min_p_floor(pool.peak, p)) if p else pool


def min_p_floor(peak: np.float32, p: float) -> float:
    """The lowest logit that min-p keeps beside a best logit of `peak`."""
    return float(peak + np.float32(math.log(p))) if p else -math.inf


def softmax(pool: Pool, temperature: float) -> Dist:
    """The pool's distribution; tokens whose probability underflows are left out."""
    offsets = _offsets(pool)
    if temperature != 1:
        offsets *= offsets.dtype.type(1 / max(temperature, _COLDEST))
    weights, ids = np.exp(offsets, out=offsets), pool.ids
    if not weights.min() > 0:
        kept = np.flatnonzero(weights)
        ids, weights = ids[kept], weights[kept]
    probs = weights.astype(np.float64, copy=False)
    probs /= probs.sum()
    return Dist(ids, probs)


def _above(pool: Pool, floor: float) -> Pool:
    """The candidates with a logit of at least `floor`."""
    return pool if pool.logits.min() >= floor else pool.take(np.flatnonzero(pool.logits >= floor))


def _offsets(pool: Pool) -> Floats:
    """logit - best of each candidate: a new array."""
    offsets: Floats = np.subtract(pool.logits, pool.peak, dtype=_precision(len(pool)))
    return offsets


def _sum_of_products(a: Floats, b: Floats) -> float:
    """Σ a·b. Not `np.dot`: BLAS would start threads that compete with the model's."""
    return sum(float((a[part] * b[part]).sum()) for part in chunks(len(a)))


def _precision(n: int) -> type[np.float32] | type[np.float64]:
    return np.float64 if n <= _DOUBLE_UP_TO else np.float32
