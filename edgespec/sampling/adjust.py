"""Changes to single logits before anything is cut: logit bias, then the three penalties.

Both touch few tokens, so the row is copied once and only those entries are written.
Source: llama.cpp src/llama-sampler.cpp (logit-bias and penalties samplers).
"""

import numpy as np
import numpy.typing as npt

from edgespec.core import Row, Sampling, Tokens


def adjusted(row: Row, params: Sampling, history: Tokens) -> Row:
    """The row after bias and penalties; `row` itself (never written to) when there are none.

    Entries may become -inf (banned) but never +inf: tokens biased to +inf come back as the only
    finite ones, all alike.
    """
    window = _penalised_window(params, history)
    if not params.logit_bias and not len(window):
        return row
    logits = row.astype(np.float32)
    # An absurd penalty may leave float32's range; as infinity it still means what it says.
    with np.errstate(over="ignore"):
        for token, bias in params.logit_bias:
            if token < len(logits):
                logits[token] += np.float32(bias)
        _penalise(logits, params, window)
    if logits.max() == np.inf:
        logits = np.where(logits == np.inf, np.float32(0), np.float32(-np.inf))
    return logits


def _penalised_window(params: Sampling, history: Tokens) -> Tokens:
    """The tokens whose repetition counts; empty when no penalty is set."""
    is_off = (
        params.repeat_penalty == 1
        and params.frequency_penalty == 0
        and params.presence_penalty == 0
    )
    if is_off or params.repeat_last_n == 0:
        return history[:0]
    return history if params.repeat_last_n < 0 else history[-params.repeat_last_n :]


def _penalise(logits: npt.NDArray[np.float32], params: Sampling, window: Tokens) -> None:
    """Lower, in place, the logits of the tokens in `window`."""
    # A drafter's row may be narrower than the target's vocabulary.
    seen, counts = np.unique(window[window < len(logits)], return_counts=True)
    before = logits[seen].astype(np.float64)
    divisor = np.where(before > 0, params.repeat_penalty, 1 / params.repeat_penalty)
    after = before / divisor
    after -= counts * params.frequency_penalty + params.presence_penalty
    logits[seen] = after
