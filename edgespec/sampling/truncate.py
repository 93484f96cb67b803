"""Truncations: pure `Pool` to `Pool` functions with llama.cpp's meaning.

Ties that a sort would break by accident go to the lower token id.
Source: llama.cpp src/llama-sampler.cpp.
"""

import math

import numpy as np

from edgespec.sampling.head import Head
from edgespec.sampling.histogram import Histogram
from edgespec.sampling.pool import Pool
from edgespec.sampling.select import Floats, highest

_WEIGHTLESS = 100.0
"""Tokens this far below the best have no mass that float64 could add to the best one's."""


def top_k(pool: Pool, k: int) -> Pool:
    """The k largest logits; 0: all."""
    return pool.take(highest(pool.logits, k)) if 0 < k < len(pool) else pool


def typical_p(pool: Pool, p: float, then_top_p: float) -> Pool:
    """The tokens whose surprise is closest to the entropy, up to more than mass p; p below 1.

    Of these the fewest most probable that hold mass `then_top_p` of theirs: both at once, because
    between two truncations a pool of its own would cost as much as either.
    """
    pool, offsets, weights = _weighed(pool)
    total = float(weights.sum())
    # entropy = log(total) - mean offset, surprise = log(total) - offset: the logarithms cancel.
    # (Not `np.dot`: BLAS would start threads that compete with the model's.)
    mean = float((weights * offsets).sum()) / total
    typical = Histogram.of(offsets, weights).nearest(mean, p * total)
    if then_top_p < 1:
        return pool.keep(typical.best(then_top_p * float(typical.masses.sum())), weights)
    assert typical.kept is not None
    return pool.keep(typical.kept, weights)


def top_p(pool: Pool, p: float, floor: float) -> Pool:
    """The fewest most probable tokens that hold mass p.

    Tokens with a logit below `floor` may be missing: min-p cuts them next, so that the boundary
    need not be looked for among them.
    """
    if p >= 1:
        return pool
    head = Head.of(pool, floor)
    if head is not None:
        # Mostly the head alone decides. Otherwise it takes the exponentials of the whole
        # vocabulary, which cost more than all else.
        least, most = head.bounds_of_total()
        cut = head.cut(p * least, p * most)
        if cut is not None:
            return cut
    pool, offsets, weights = _weighed(pool)
    mass = p * float(weights.sum())
    cut = None if head is None else head.cut(mass, mass)
    if cut is not None:
        return cut
    return pool.keep(Histogram.of(offsets, weights).best(mass), weights, pool.peak)


def _weighed(pool: Pool) -> tuple[Pool, Floats, Floats]:
    """The pool less what weighs nothing, how far each logit is below the best, its weight."""
    pool = pool.above(float(pool.peak) - _WEIGHTLESS)
    offsets = pool.offsets()
    return pool, offsets, np.exp(offsets)


def min_p(pool: Pool, p: float) -> Pool:
    """The tokens at least p times as probable as the best one; 0: all."""
    return pool.above(min_p_floor(pool.peak, p)) if p else pool


def min_p_floor(peak: np.float32, p: float) -> float:
    """The lowest logit that min-p keeps beside a best logit of `peak`."""
    return float(peak + np.float32(math.log(p))) if p else -math.inf
