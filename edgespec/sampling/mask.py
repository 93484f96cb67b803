"""Applying a grammar lazily: asking it about few tokens, yet getting the law of masking all.

A grammar walks its automaton for every token it is asked about, so the whole vocabulary costs
milliseconds. Best first, in growing batches, mostly needs one batch.
"""

from collections.abc import Iterator

import numpy as np

from edgespec.core import Constraint, Row, Sampling
from edgespec.errors import EngineError
from edgespec.sampling.pool import Pool, whole
from edgespec.sampling.select import highest
from edgespec.sampling.truncate import min_p_floor

_GROWTH = 8


def allowed_pool(logits: Row, params: Sampling, constraint: Constraint) -> Pool:
    """Allowed tokens: all that the chain of `params` could keep, with the same best ones.

    Raises: `EngineError` when the constraint allows no token that is not banned.
    """
    if params.top_k:
        return best_allowed(logits, constraint, params.top_k)
    if params.min_p and params.top_p == 1 and params.typical_p == 1:
        best = best_allowed(logits, constraint, 1)
        floor = min_p_floor(best.peak, params.min_p)
        pool = whole(logits)
        return _sifted(pool.take(np.flatnonzero(pool.logits >= floor)), constraint)
    # These weigh every allowed token, so every one must be known.
    pool = _sifted(whole(logits), constraint)
    if not len(pool):
        raise _nothing_allowed()
    return pool


def best_allowed(logits: Row, constraint: Constraint, want: int) -> Pool:
    """The `want` highest allowed tokens and perhaps more; fewer only if there are no more.

    Raises: `EngineError` when the constraint allows no token that is not banned.
    """
    pool = whole(logits)
    parts: list[Pool] = []
    n_found = 0
    for batch in _descending(pool, want):
        found = _sifted(batch, constraint)
        parts.append(found)
        n_found += len(found)
        if n_found >= want:
            break
    if not n_found:
        raise _nothing_allowed()
    return _merged(parts)


def _descending(pool: Pool, first: int) -> Iterator[Pool]:
    """The pool in batches of growing size, each with smaller logits than those before it."""
    n_batch = first
    while n_batch < len(pool):
        index = highest(pool.logits, n_batch)
        yield pool.take(index)
        is_left = np.ones(len(pool), np.bool_)
        is_left[index] = False
        pool = pool.take(np.flatnonzero(is_left))
        n_batch *= _GROWTH
    yield pool


def _sifted(pool: Pool, constraint: Constraint) -> Pool:
    return pool.take(np.flatnonzero(constraint.allowed(pool.ids)))


def _merged(parts: list[Pool]) -> Pool:
    if len(parts) == 1:
        return parts[0]
    ids = np.concatenate([part.ids for part in parts])
    logits = np.concatenate([part.logits for part in parts])
    order = np.argsort(ids)
    return Pool(ids[order], logits[order])


class NothingAllowed(EngineError):
    """A constraint leaves none of the tokens that have a finite logit."""


def _nothing_allowed() -> NothingAllowed:
    return NothingAllowed(
        "the grammar allows no token here that the logit bias has not banned",
        hint="remove the bias of minus infinity, or let the grammar end the answer",
    )
