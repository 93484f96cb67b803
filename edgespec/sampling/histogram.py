"""The mass of many candidates by their keys, gathered once and then cut in linear time.

Owns cuts by mass; knows nothing of tokens or rows. Ties go to the lower index, so every answer is
unique.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from edgespec.core import Mask, Probs
from edgespec.sampling.select import Floats, where

Side = Literal["left", "right"]
_Buckets = npt.NDArray[np.int16]

_MOST_BUCKETS = 4096
_PER_BUCKET = 8
"""Few candidates get few buckets: walking over empty ones would cost more than sorting."""
_SORTABLE = 2048
"""Up to here a sort costs less than another round of bucketing."""
_NARROW = 1e-30
"""Keys this close together are sorted: mostly they are all equal, which costs nothing."""
_SLACK = 2
"""A key lies within one bucket of where its bucket says, and rounding may add another."""


def heaviest(keys: Floats, weights: Floats, mass: float, side: Side = "left") -> Mask:
    """Where the fewest largest `keys` are whose `weights` add up to `mass`.

    "left": to at least `mass`; "right": to more than it. Everywhere when even the whole falls
    short. `keys` must lie within a finite range.
    """
    if len(keys) > _SORTABLE:
        offsets = keys - keys.max()
        if offsets.min() <= -_NARROW:
            return Histogram.of(offsets, weights).best(mass, side)
    order = np.argsort(-keys, kind="stable")
    totals = np.cumsum(weights[order], dtype=np.float64)
    cut = int(np.searchsorted(totals, mass, side)) + 1
    keep = np.zeros(len(keys), np.bool_)
    keep[order[:cut]] = True
    return keep


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Candidates spread over buckets of equal width. A cut keeps or drops whole buckets, and looks
    closer at those that its border runs through."""

    offsets: Floats
    """Each candidate's key less the largest one: from 0 downwards."""
    weights: Floats
    bucket: _Buckets
    """Each candidate's bucket, 0 the highest."""
    width: float
    """Of a bucket, in keys."""
    masses: Probs
    """[buckets] of the candidates in play."""
    kept: Mask | None = None
    """Which are in play; None: all."""

    @staticmethod
    def of(offsets: Floats, weights: Floats) -> "Histogram":
        """All of them. `offsets` has a 0 and nothing above it."""
        n_buckets = min(_MOST_BUCKETS, 2 + len(offsets) // _PER_BUCKET)
        # The highest and the lowest never share a bucket, so looking closer always gets closer.
        width = max(-float(offsets.min()), _NARROW) / (n_buckets - 1)
        bucket = (offsets * offsets.dtype.type(-1 / width)).astype(np.int16)
        masses = _masses(bucket, weights, n_buckets)
        return Histogram(offsets, weights, bucket, width, masses)

    def best(self, mass: float, side: Side = "left") -> Mask:
        """As `heaviest`: where the fewest largest keys in play are that weigh `mass`."""
        totals = np.cumsum(self.masses)
        last = min(int(np.searchsorted(totals, mass, side)), len(totals) - 1)
        left = mass - float(totals[last - 1]) if last else mass
        keep, is_border = self.bucket < last, self.bucket == last
        if self.kept is not None:
            keep &= self.kept
            is_border &= self.kept
        border = where(is_border)
        keep[border] = heaviest(self.offsets[border], self.weights[border], left, side)
        return keep

    def nearest(self, centre: float, mass: float) -> "Histogram":
        """The fewest of all candidates closest to the offset `centre` that weigh more than `mass`.

        The first whole number of buckets around the centre's that is enough is right up to two.
        """
        n_buckets = len(self.masses)
        middle = min(int(-centre / self.width), n_buckets - 1)
        ends = np.concatenate((np.zeros(1), np.cumsum(self.masses)))

        def within(reach: int) -> float:
            return float(ends[min(middle + reach + 1, n_buckets)] - ends[max(middle - reach, 0)])

        edge = bisect_right(range(n_buckets), mass, key=within)
        sure = edge - 1 - _SLACK
        distance = self.bucket - np.int16(middle)
        np.abs(distance, out=distance)
        keep = distance <= sure
        border = where((distance <= edge + _SLACK) ^ keep)
        closeness = -np.abs(self.offsets[border].astype(np.float64) - centre)
        left = mass - within(sure) if sure >= 0 else mass
        keep[border] = heaviest(closeness, self.weights[border], left, "right")
        border = border[keep[border]]
        masses = _masses(self.bucket[border], self.weights[border], n_buckets)
        whole = slice(max(middle - sure, 0), max(middle + sure + 1, 0))
        masses[whole] = self.masses[whole]
        return replace(self, masses=masses, kept=keep)


def _masses(bucket: _Buckets, weights: Floats, n_buckets: int) -> Probs:
    # Converted here: `bincount` itself takes twice as long for that.
    found = np.bincount(bucket.astype(np.intp), weights.astype(np.float64), n_buckets)
    return found.astype(np.float64, copy=False)  # It counts in integers where there is nothing.
