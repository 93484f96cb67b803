"""What the sampling chain costs per row, on rows as wide as the largest vocabularies in use."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np

from edgespec.core import Row, Sampling, Tokens
from edgespec.sampling import RequestSampler

N_VOCAB = 151_936
_N_HISTORY = 32_768


@dataclass(frozen=True, slots=True)
class ChainCost:
    """One setting of the chain on one kind of row."""

    setting: str
    row: str
    n_kept: int
    """Tokens with a probability."""
    shape_ms: float
    """Logits to distribution, median."""
    shape_best_ms: float
    """The same, best: what it costs when nothing else wants the machine."""
    draw_ms: float
    """One draw from it, median."""


SETTINGS: dict[str, Sampling] = {
    "greedy": Sampling(),
    "greedy, repeat 1.1 over 64": Sampling(repeat_penalty=1.1),
    "top-k 40, top-p 0.95, min-p 0.05": Sampling(0.8, top_k=40, top_p=0.95, min_p=0.05),
    "top-k 20, top-p 0.8": Sampling(0.7, top_k=20, top_p=0.8),
    "top-k 1000": Sampling(1, top_k=1000),
    "min-p 0.05": Sampling(1, min_p=0.05),
    "top-p 0.95, min-p 0.05": Sampling(1, top_p=0.95, min_p=0.05),
    "temperature 1": Sampling(1),
    "temperature 1, reproducible": Sampling(1, reproducible=True),
    "temperature 0.7": Sampling(0.7),
    "top-p 0.95": Sampling(1, top_p=0.95),
    "typical-p 0.95": Sampling(1, typical_p=0.95),
    "typical-p 0.95, top-p 0.95": Sampling(1, typical_p=0.95, top_p=0.95),
    "temperature 0.7, typical-p 0.95, top-p 0.95": Sampling(0.7, typical_p=0.95, top_p=0.95),
    "all three penalties over 32,768": Sampling(
        1, repeat_penalty=1.1, frequency_penalty=0.1, presence_penalty=0.1, repeat_last_n=-1
    ),
}


def chain_costs(n_repeats: int = 10) -> list[ChainCost]:
    """The cost of every setting on a peaked row (text) and on a flat one (the worst case)."""
    rng = np.random.default_rng(0)
    history = rng.integers(0, N_VOCAB, _N_HISTORY, dtype=np.int32)
    rows = {"peaked": _peaked(rng), "flat": rng.standard_normal(N_VOCAB, np.float32)}
    return [
        _cost(setting, params, kind, row, history, n_repeats)
        for setting, params in SETTINGS.items()
        for kind, row in rows.items()
    ]


def _peaked(rng: np.random.Generator) -> Row:
    """A row like a language model's: a broad bulk and a few dozen tokens far above it."""
    row = (2.5 * rng.standard_normal(N_VOCAB)).astype(np.float32)
    row[rng.choice(N_VOCAB, 40, replace=False)] += np.linspace(22, 6, 40, dtype=np.float32)
    return row


def _cost(
    setting: str, params: Sampling, kind: str, row: Row, history: Tokens, n_repeats: int
) -> ChainCost:
    sampler = RequestSampler(params, len(row))
    dist = sampler.dist(row, history)
    shaping_ms = _times_ms(lambda: sampler.dist(row, history), n_repeats)
    drawing_ms = _times_ms(lambda: sampler.draw(dist, len(history)), n_repeats)
    return ChainCost(
        setting,
        kind,
        n_kept=len(dist.ids),
        shape_ms=median(shaping_ms),
        shape_best_ms=min(shaping_ms),
        draw_ms=median(drawing_ms),
    )


def _times_ms(call: Callable[[], object], n_repeats: int) -> list[float]:
    times_ms = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        call()
        times_ms.append(1e3 * (time.perf_counter() - start))
    return times_ms
