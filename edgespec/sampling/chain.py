"""The sampling chain: one row of logits to the distribution that the next token is drawn from.

One chain serves target and draft, so p and q differ only by their logits. The order is llama.cpp's:
bias, penalties, grammar, top-k, typical-p, top-p, min-p, temperature. Truncation thus sees the
distribution at temperature 1. Source: llama.cpp common/sampling.cpp, src/llama-sampler.cpp.
"""

import math

import numpy as np

from edgespec.core import Constraint, Dist, Row, Sampling, Tokens
from edgespec.errors import EngineError
from edgespec.sampling.adjust import adjusted
from edgespec.sampling.mask import allowed_pool, best_allowed
from edgespec.sampling.pool import Pool, softmax, unbanned
from edgespec.sampling.truncate import min_p, min_p_floor, top_k, top_p, typical_p


def shaped(
    row: Row, params: Sampling, history: Tokens, constraint: Constraint | None = None
) -> Dist:
    """The distribution of the token after `history`, given its logits [n_vocab].

    Temperature 0 is a point mass on the largest logit (ties: the lowest id), whatever else is set.
    A finished grammar allows only end-of-generation tokens, and the law is then over those.
    Raises: `EngineError` when bias and constraint together leave no token.
    """
    logits = adjusted(row, params, history)
    if params.temperature == 0:
        return Dist.point(_best(row, logits, constraint))
    peak = row.max()
    _check(row, float(peak))
    known = peak if logits is row else None
    # Absurd biases and temperatures overflow to -inf, which is what they mean.
    with np.errstate(over="ignore"):
        if constraint is None:
            pool = unbanned(top_k(Pool(None, logits, known), params.top_k))
            if not len(pool):
                raise _all_banned()
        else:
            pool = top_k(allowed_pool(logits, params, constraint), params.top_k)
        if params.typical_p < 1:
            pool = typical_p(pool, params.typical_p, params.top_p)
        else:
            pool = top_p(pool, params.top_p, min_p_floor(pool.peak, params.min_p))
        return softmax(min_p(pool, params.min_p), params.temperature)


def _best(row: Row, logits: Row, constraint: Constraint | None) -> int:
    """The token of the largest logit that the constraint allows."""
    best = int(logits.argmax())
    peak: float = logits.item(best)
    _check(row, peak if logits is row else float(row.max()))
    if constraint is not None:
        pool = best_allowed(logits, constraint, 1)
        return int(pool.ids[pool.logits.argmax()])
    if peak == -math.inf:
        raise _all_banned()
    return best


def _check(row: Row, peak: float) -> None:
    """A row of NaN or without a finite best logit is a fault of ours (max and argmax carry NaN)."""
    assert math.isfinite(peak), f"row of {len(row)} logits has the maximum {peak}"


def _all_banned() -> EngineError:
    return EngineError(
        "the logit bias bans every token of the vocabulary",
        hint="remove a bias of minus infinity",
    )
