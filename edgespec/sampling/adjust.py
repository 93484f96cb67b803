"""Changes to single logits before anything is cut: logit bias, then the three penalties.

Both touch few tokens, so the row is copied once and only those entries are written.
Source: llama.cpp src/llama-sampler.cpp (logit-bias and penalties samplers).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from edgespec.core import Row, Sampling, Tokens

_Integers = npt.NDArray[np.integer[Any]]
_TALLIED_FROM = 4096
"""Longer windows are counted into a tally as wide as the vocabulary, shorter ones sorted."""


def adjusted(row: Row, params: Sampling, history: Tokens) -> Row:
    """The row after bias and penalties; `row` itself (never written to) when there are none.

    Entries may become -inf (banned) but never +inf: tokens biased to +inf come back as the only
    finite ones, all alike. What is impossible stays so, whatever its other biases.
    """
    n_penalised = _n_penalised(params, len(history))
    if not params.logit_bias and not n_penalised:
        return row
    logits = row.astype(np.float32)
    # An absurd penalty may leave float32's range; as infinity it still means what it says.
    with np.errstate(over="ignore"):
        for token, bias in params.logit_bias:
            amount = np.float32(bias)
            if token < len(logits) and logits[token] != -np.inf:
                logits[token] = amount if amount == -np.inf else logits[token] + amount
        _penalise(logits, params, history[len(history) - n_penalised :])
    if logits.max() == np.inf:
        logits = np.where(logits == np.inf, np.float32(0), np.float32(-np.inf))
    return logits


def _n_penalised(params: Sampling, n_history: int) -> int:
    """How many of the last tokens count as repeated; 0 when no penalty is set."""
    is_off = (
        params.repeat_penalty == 1
        and params.frequency_penalty == 0
        and params.presence_penalty == 0
    )
    if is_off:
        return 0
    last = params.repeat_last_n
    return n_history if last < 0 else min(last, n_history)


def _penalise(logits: npt.NDArray[np.float32], params: Sampling, window: Tokens) -> None:
    """Lower, in place, the logits of the tokens in `window`."""
    # A drafter's row may be narrower than the target's vocabulary.
    seen, counts = _counted(window[window < len(logits)], len(logits))
    before = logits[seen].astype(np.float64)
    after = np.where(before > 0, before / params.repeat_penalty, before * params.repeat_penalty)
    after -= counts * params.frequency_penalty + params.presence_penalty
    logits[seen] = after.astype(np.float32)


def _counted(window: Tokens, n_vocab: int) -> tuple[_Integers, _Integers]:
    """The different tokens of `window`, and how often each is in it."""
    if len(window) < _TALLIED_FROM:
        seen, counts = np.unique(window, return_counts=True)
        return seen, counts
    tally = np.bincount(window, minlength=n_vocab)
    present = np.flatnonzero(tally > 0)
    return present, tally[present]
