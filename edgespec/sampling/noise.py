"""Noise that is a function of (seed, position, token): what couples draft and target.

A counter-based generator (SplitMix64's finaliser over the token ids, keyed by seed and position):
no state, so whoever asks gets the same number.
Source: Steele et al. 2014, "Fast splittable pseudorandom number generators"; the Gumbel coupling
of speculative sampling is Daliri et al. 2024 (arXiv 2408.07978).
"""

import numpy as np
import numpy.typing as npt

from edgespec.core import Dist, Tokens
from edgespec.sampling.select import chunks

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def coupled_draw(dist: Dist, seed: int, position: int) -> int:
    """A token of `dist`, decided by noise alone: argmax of log p + Gumbel noise.

    Over seeds the law is exactly `dist`. Two distributions at one position get the same token
    whenever they agree well enough, whichever of them is drawn from first.
    """
    if len(dist.ids) == 1:
        return int(dist.ids[0])
    # -log(-log u) + log p is largest where -log(u) / p is smallest: an exponential race.
    finish = exponential_noise(seed, position, dist.ids)
    finish /= dist.probs
    return int(dist.ids[finish.argmin()])


def exponential_noise(seed: int, position: int, ids: Tokens) -> npt.NDArray[np.float64]:
    """Independent exponentials (mean 1), one per id."""
    key = _mixed_int(_mixed_int(seed + _GOLDEN) + position)
    noise = np.empty(len(ids), np.float64)
    for part in chunks(len(ids)):
        bits = _mixed(ids[part].astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(key))
        uniform = (bits >> np.uint64(11)).astype(np.float64)
        uniform += 0.5  # Never 0 and never 2^53: the logarithm is finite and not 0.
        uniform *= 2.0**-53
        np.log(uniform, out=noise[part])
    return np.negative(noise, out=noise)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser; changes `bits` in place."""
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(multiplier)
    bits ^= bits >> np.uint64(31)
    return bits


def _mixed_int(x: int) -> int:
    """SplitMix64's finaliser on one number."""
    x = (x * _GOLDEN + _GOLDEN) & _MASK
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        x = ((x ^ (x >> shift)) * multiplier) & _MASK
    return x ^ (x >> 31)
