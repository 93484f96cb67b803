"""Noise that is a function of (seed, position, token): what couples draft and target.

A counter-based generator (SplitMix64's finaliser over the token ids, keyed by seed and position):
no state, so whoever asks gets the same number.
Source: Steele et al. 2014, "Fast splittable pseudorandom number generators"; the Gumbel coupling
of speculative sampling is Daliri et al. 2024 (arXiv 2408.07978).
"""

import numpy as np
import numpy.typing as npt

from edgespec.core import Dist, Probs, Tokens

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_CHUNK = 16_384
"""Ids mixed at a time: their bits then stay in the cache through all the steps."""
_ROUNDING = 1 + 1e-12
"""What the last bits of a logarithm and of a quotient could turn."""


def coupled_draw(dist: Dist, seed: int, position: int) -> int:
    """A token of `dist`, decided by noise alone: argmax of log p + Gumbel noise.

    Over seeds the law is exactly `dist`. Two distributions at one position get the same token
    whenever they agree well enough, whichever of them is drawn from first.
    """
    if len(dist.ids) == 1:
        return int(dist.ids[0])
    # -log(-log u) + log p is largest where -log(u) / p is smallest: an exponential race. As
    # -log(u) >= 1 - u, only those who might beat the favourite need the slow logarithm.
    earliest = _uniforms(seed, position, dist.ids)
    np.subtract(1, earliest, out=earliest)
    with np.errstate(over="ignore"):  # what is next to impossible never finishes
        earliest /= dist.probs
    favourite = np.array([earliest.argmin()])
    best = _finish(dist, seed, position, favourite)[0]
    rivals = np.flatnonzero(earliest <= best * _ROUNDING)
    return int(dist.ids[rivals[_finish(dist, seed, position, rivals).argmin()]])


def _finish(dist: Dist, seed: int, position: int, index: npt.NDArray[np.intp]) -> Probs:
    """When the tokens at `index` finish the race."""
    with np.errstate(over="ignore"):
        return exponential_noise(seed, position, dist.ids[index]) / dist.probs[index]


def exponential_noise(seed: int, position: int, ids: Tokens) -> Probs:
    """Independent exponentials (mean 1), one per id."""
    return -np.log(_uniforms(seed, position, ids))


def _uniforms(seed: int, position: int, ids: Tokens) -> Probs:
    """Independent numbers strictly between 0 and 1, one per id: a new array."""
    key = np.uint64(_mixed_int(_mixed_int(seed + _GOLDEN) + position))
    uniforms = np.empty(len(ids), np.float64)
    for start in range(0, len(ids), _CHUNK):
        part = slice(start, start + _CHUNK)
        # 52 bits and a half: exact in a double, and so is 1 - u.
        np.add(_mixed(ids[part], key) >> np.uint64(12), 0.5, out=uniforms[part])
    uniforms *= 2.0**-52
    return uniforms


def _mixed(ids: Tokens, key: np.uint64) -> npt.NDArray[np.uint64]:
    """64 bits per id, by SplitMix64's finaliser."""
    bits = ids.astype(np.uint64)
    bits *= np.uint64(_GOLDEN)
    bits += key
    shifted = np.empty_like(bits)
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        bits ^= np.right_shift(bits, np.uint64(shift), out=shifted)
        bits *= np.uint64(multiplier)
    bits ^= np.right_shift(bits, np.uint64(31), out=shifted)
    return bits


def _mixed_int(x: int) -> int:
    """SplitMix64's finaliser on one number."""
    x = (x * _GOLDEN + _GOLDEN) & _MASK
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        x = ((x ^ (x >> shift)) * multiplier) & _MASK
    return x ^ (x >> 31)
