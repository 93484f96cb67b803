"""The few best tokens of a row: mostly they decide where top-p cuts, whatever the others weigh.

Knows how to prove that; `None` wherever the others might matter.
"""

import math
from dataclasses import dataclass

import numpy as np

from edgespec.sampling.histogram import heaviest
from edgespec.sampling.pool import Pool
from edgespec.sampling.select import Floats

_REACHES = (16, 8)
"""How far below the best to look: the farther, the less can lie beyond."""
_SHARE = 8
"""Few are at most one in eight."""
_STRIDE = 64
"""One token in so many tells roughly how many lie above a threshold."""


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """All tokens of `pool` with a logit of at least `reach`."""

    pool: Pool
    few: Pool
    light: Floats
    """Their weights."""
    reach: float
    floor: float
    """Tokens with a logit below are not wanted: min-p cuts them next."""

    @staticmethod
    def of(pool: Pool, floor: float) -> "Head | None":
        """The head down to the lowest threshold that leaves it small, if one does."""
        sample = pool.logits[::_STRIDE]
        for reach in (*(float(pool.peak - np.float32(step)) for step in _REACHES), floor):
            if np.count_nonzero(sample >= reach) <= len(sample) // _SHARE:
                few = pool.keep(pool.logits >= reach, peak=pool.peak)
                return Head(pool, few, few.weights, reach, floor)
        return None

    def bounds_of_total(self) -> tuple[float, float]:
        """The least and the most that all tokens of the pool can weigh."""
        known, n_rest = float(self.light.sum()), len(self.pool) - len(self.few)
        most = known + n_rest * math.exp(self.reach - float(self.pool.peak))
        if self.floor < self.reach or not n_rest:
            return known, most
        # The mean of exponentials is at least the exponential of the mean.
        rest_sum = float(self.pool.logits.sum(dtype=np.float64)) - float(
            self.few.logits.sum(dtype=np.float64)
        )
        return known + n_rest * math.exp(rest_sum / n_rest - float(self.pool.peak)), most

    def cut(self, least: float, most: float) -> Pool | None:
        """The fewest best tokens that weigh `least`, if they reach `most` as well: then it is
        the answer for whatever mass lies between. Unwanted tokens may be missing.
        """
        if self.floor >= self.reach:
            is_high = self.few.logits >= self.floor
            if (self.light * is_high).sum() <= least:
                return self.few.above(self.floor)
        head = np.flatnonzero(heaviest(self.few.logits, self.light, least))
        is_enough = self.light[head].sum() >= most
        return self.few.take(head, self.light, self.few.peak) if is_enough else None
