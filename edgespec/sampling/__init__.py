"""Sampling: from a row of logits to a distribution, and from a distribution to a token.

Knows no model and no native library; rows come in as numpy arrays, a grammar as a `Constraint`.
"""

from edgespec.sampling.chain import shaped
from edgespec.sampling.sampler import RequestSampler

__all__ = ["RequestSampler", "shaped"]
