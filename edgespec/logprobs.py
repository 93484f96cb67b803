"""What the target thought of each emitted token, and of its rivals.

The law reported is the model's own: before bias, penalties, truncation and temperature, so that
figures of different requests compare (as OpenAI's and llama-server's do).
"""

from collections.abc import Sequence

import numpy as np

from edgespec.core import Row
from edgespec.events import TokenLogprob


def logprobs(rows: Sequence[Row], tokens: Sequence[int], n_top: int) -> tuple[TokenLogprob, ...]:
    """Of each of a step's tokens, from the row that it was decided on: row i decides token i."""
    return tuple(_of_row(rows[i], token, n_top) for i, token in enumerate(tokens))


def _of_row(row: Row, token: int, n_top: int) -> TokenLogprob:
    peak = row.max()
    # float32 suffices up to the sum, whose error would show in every figure.
    log_total = float(peak) + float(np.log(np.exp(row - peak).sum(dtype=np.float64)))
    rivals = tuple(TokenLogprob(i, float(row[i]) - log_total) for i in _likeliest(row, n_top))
    return TokenLogprob(token, float(row[token]) - log_total, top=rivals)


def _likeliest(row: Row, n: int) -> list[int]:
    """Ids of the n largest logits, descending; ties: the lower id first."""
    n = min(n, len(row))
    if n == 0:
        return []
    floor = np.partition(row, len(row) - n)[len(row) - n]
    near = np.flatnonzero(row >= floor)
    order = np.argsort(-row[near], kind="stable")[:n]
    return [int(i) for i in near[order]]
