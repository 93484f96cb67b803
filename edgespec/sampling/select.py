"""Selecting the largest entries of a long array in linear time, without ever sorting it.

Owns selection only; knows nothing of tokens or probabilities. Ties go to the lower index, so
every answer is unique.
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from edgespec.core import Mask

Index = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float32] | npt.NDArray[np.float64]

_N_BUCKETS = 4096
_SORTABLE = 2048
"""Up to here a sort costs less than another round of bucketing."""
_NARROW = 1e-30
"""Keys this close together are sorted: mostly they are all equal, which costs nothing."""


def highest(values: Floats, k: int) -> Index:
    """Ascending indexes of the k largest `values`, 1 ≤ k ≤ len(values)."""
    near = np.flatnonzero(values >= _floor_of_highest(values, k))
    if len(near) == k:
        return near
    close = values[near]
    kth = np.partition(close, len(close) - k)[len(close) - k]
    keep = close > kth
    n_ties = k - int(np.count_nonzero(keep))
    keep[np.flatnonzero(close == kth)[:n_ties]] = True
    return near[np.flatnonzero(keep)]


def _floor_of_highest(values: Floats, k: int) -> float:
    """A cheap lower bound of the k-th largest value.

    The array is folded into columns; the maxima of k columns are k different entries, so the
    k-th largest maximum cannot exceed the k-th largest value. About 15 μs at 151,936 entries,
    where partitioning all of them takes 150.
    """
    height = min(64, len(values) // (4 * k))
    if height < 2:
        return float("-inf")
    width = len(values) // height
    maxima = values[: height * width].reshape(height, width).max(axis=0)
    return float(np.partition(maxima, width - k)[width - k])


def heaviest(
    keys: Floats, weights: Floats, mass: float, side: Literal["left", "right"] = "left"
) -> Mask:
    """Where the fewest largest `keys` are whose `weights` add up to `mass`.

    "left": to at least `mass`; "right": to more than it. Everywhere when even the whole falls
    short. `keys` must lie within a finite range. Spreads them over buckets of equal width, keeps
    the buckets above the boundary, and looks closer at the one it falls into.
    """
    if len(keys) <= _SORTABLE:
        return _heaviest_by_sorting(keys, weights, mass, side)
    top = keys.max()
    span = float(top - keys.min())
    if span < _NARROW:
        return _heaviest_by_sorting(keys, weights, mass, side)
    bucket = _buckets(keys, top, (_N_BUCKETS - 1) / span)
    totals = np.cumsum(np.bincount(bucket, weights, _N_BUCKETS))
    last = min(int(np.searchsorted(totals, mass, side)), _N_BUCKETS - 1)
    left = mass - float(totals[last - 1]) if last else mass
    keep = bucket < last
    inside = np.flatnonzero(bucket == last)
    keep[inside] = heaviest(keys[inside], weights[inside], left, side)
    return keep


def _heaviest_by_sorting(
    keys: Floats, weights: Floats, mass: float, side: Literal["left", "right"]
) -> Mask:
    order = np.argsort(-keys, kind="stable")
    totals = np.cumsum(weights[order], dtype=np.float64)
    cut = int(np.searchsorted(totals, mass, side)) + 1
    keep = np.zeros(len(keys), np.bool_)
    keep[order[:cut]] = True
    return keep


def _buckets(keys: Floats, top: np.floating[Any], scale: float) -> npt.NDArray[np.uint16]:
    """Each key's bucket, 0 the highest.

    The highest and the lowest key never share a bucket, so looking closer always gets closer.
    """
    depth = top - keys
    depth *= depth.dtype.type(scale)
    return depth.astype(np.uint16)
