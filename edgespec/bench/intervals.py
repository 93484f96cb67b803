"""How far a ratio may be off: a bootstrap over the turns of a benchmark.

What is resampled is what differs between turns of the same prompt: timing noise. The interval
says what another run of the same prompts would give, nothing about other prompts.

Source: the residual bootstrap of Davison & Hinkley 1997, section 3.2 (several samples with a
common error law); the widening is Student's t by its expansion in 1/df (Fisher 1925).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

LEVEL = 0.95
_RESAMPLES = 2000
_SEED = 7
_LEAST_DF = 3
"""Fewer repeats than this know nothing of their own spread."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a ratio lies with probability `LEVEL`, unless said otherwise."""

    low: float
    high: float

    def __contains__(self, ratio: float) -> bool:
        return self.low <= ratio <= self.high


@dataclass(frozen=True, slots=True)
class Intervals:
    """Of each group's ratio, and of the geometric mean over groups; None without enough repeats."""

    groups: tuple[Interval | None, ...]
    total: Interval | None


def intervals(logs: Sequence[Sequence[float]], level: float = LEVEL) -> Intervals:
    """Intervals of ratios whose logarithms are given, turn by turn for every group.

    Groups share one error law: the residuals of all are drawn from for each.
    """
    residuals = _residuals(logs)
    df = sum(len(group) - 1 for group in logs)
    if df < _LEAST_DF:
        return Intervals((None,) * len(logs), None)
    random = np.random.default_rng(_SEED)
    shifts = [random.choice(residuals, (_RESAMPLES, len(group))).mean(axis=1) for group in logs]
    means = [float(np.mean(group)) for group in logs]
    wider = widening(level, df)
    groups = tuple(_around(m, shift * wider, level) for m, shift in zip(means, shifts, strict=True))
    total = _around(float(np.mean(means)), np.mean(shifts, axis=0) * wider, level)
    return Intervals(groups, total)


def _residuals(logs: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    """What is left of each turn without its group's mean, with the variance it really has."""
    parts = [
        (np.asarray(group, np.float64) - np.mean(group)) * math.sqrt(len(group) / (len(group) - 1))
        for group in logs
        if len(group) > 1
    ]
    return np.concatenate(parts) if parts else np.zeros(1)


def widening(level: float, df: int) -> float:
    """Student's quantile over the normal one: few residuals know their own spread badly."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    z2 = z * z
    terms: tuple[float, ...] = (
        (z2 + 1) / 4,
        ((5 * z2 + 16) * z2 + 3) / 96,
        (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
        ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160,
    )
    return 1.0 + sum(term / float(df**power) for power, term in enumerate(terms, start=1))


def _around(mean: float, shifts: npt.NDArray[np.float64], level: float) -> Interval:
    # The basic bootstrap: a shift upwards of the sample means that the truth lies lower.
    tail = (1 - level) / 2
    below, above = np.quantile(shifts, [tail, 1 - tail])
    return Interval(math.exp(mean - float(above)), math.exp(mean - float(below)))
