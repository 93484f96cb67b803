"""The sampling chain written to be read, not to be fast: a full sort, float64, one step a line."""

import math
from collections.abc import Callable, Collection

import numpy as np

from edgespec.core import Row, Sampling


def reference(
    row: Row, params: Sampling, history: list[int], allowed: Collection[int] | None = None
) -> dict[int, float]:
    """Token to probability, probabilities of 0 left out."""
    logits = dict(enumerate(penalised(row, params, history)))
    if allowed is not None:
        logits = {token: logit for token, logit in logits.items() if token in allowed}
    if math.inf in logits.values():
        logits = {token: 0.0 for token, logit in logits.items() if logit == math.inf}
    logits = {token: logit for token, logit in logits.items() if logit > -math.inf}
    ranked = sorted(logits, key=lambda token: (-logits[token], token))
    if params.temperature == 0:
        return {ranked[0]: 1.0}
    if params.top_k:
        ranked = ranked[: params.top_k]
    if params.typical_p < 1:
        p = softmax({token: logits[token] for token in ranked})
        entropy = -sum(p[token] * log(p[token]) for token in ranked)
        ranked.sort(key=lambda token: (abs(-log(p[token]) - entropy), token))
        ranked = head(ranked, p, lambda mass: mass > params.typical_p)
        ranked.sort(key=lambda token: (-logits[token], token))
    if params.top_p < 1:
        p = softmax({token: logits[token] for token in ranked})
        ranked = head(ranked, p, lambda mass: mass >= params.top_p)
    if params.min_p > 0:
        floor = np.float32(logits[ranked[0]]) + np.float32(math.log(params.min_p))
        ranked = [token for token in ranked if logits[token] >= floor]
    p = softmax({token: logits[token] / params.temperature for token in ranked})
    return {token: p[token] for token in sorted(ranked) if p[token] > 0}


def penalised(row: Row, params: Sampling, history: list[int]) -> list[float]:
    logits = [float(logit) for logit in row]
    for token, bias in params.logit_bias:
        logits[token] = float(np.float32(logits[token] + bias))
    n = params.repeat_last_n
    window = history if n < 0 else history[len(history) - min(n, len(history)) :]
    for token in set(window):
        logit = logits[token]
        logit = logit / params.repeat_penalty if logit > 0 else logit * params.repeat_penalty
        logit -= window.count(token) * params.frequency_penalty + params.presence_penalty
        logits[token] = float(np.float32(logit))
    return logits


def softmax(logits: dict[int, float]) -> dict[int, float]:
    best = max(logits.values())
    weights = {token: math.exp(max(logit - best, -745)) for token, logit in logits.items()}
    total = math.fsum(weights.values())
    return {token: weight / total for token, weight in weights.items()}


def head(ranked: list[int], p: dict[int, float], is_enough: Callable[[float], bool]) -> list[int]:
    """The shortest head of `ranked` whose mass is enough."""
    mass = 0.0
    for n, token in enumerate(ranked, start=1):
        mass += p[token]
        if is_enough(mass):
            return ranked[:n]
    return ranked


def log(x: float) -> float:
    return math.log(max(x, 5e-324))
