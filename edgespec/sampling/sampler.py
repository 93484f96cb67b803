"""One request's shaping and randomness, for target and draft alike."""

import math
import secrets
from collections.abc import Iterator

import numpy as np

from edgespec.core import Constraint, Dist, Row, Rule, Sampling, Tokens
from edgespec.errors import UsageError
from edgespec.sampling.chain import shaped
from edgespec.sampling.heap import keep_freed_memory
from edgespec.sampling.noise import coupled_draw

_AT_ONCE = 64
"""Random numbers."""


class RequestSampler:
    """A `core.Sampler` with independent streams for target, acceptance and drafts.

    What a drafter draws, or whether there is one, never moves the target's stream: with
    deterministic drafts the text is plain decoding's for the same seed.
    Raises: `UsageError` for a logit bias on a token that a vocabulary of `n_vocab` lacks.
    """

    def __init__(
        self, params: Sampling, n_vocab: int, constraint: Constraint | None = None
    ) -> None:
        _check_bias(params, n_vocab)
        keep_freed_memory()
        self._params = params
        self._constraint = constraint
        self._seed = secrets.randbits(63) if params.seed is None else params.seed
        streams = np.random.SeedSequence(self._seed).spawn(3)
        self._target, self._acceptance, self._draft = map(_numbers, streams)

    @property
    def params(self) -> Sampling:
        """How distributions are shaped."""
        return self._params

    @property
    def seed(self) -> int:
        """The seed in use; drawn at random where none was given."""
        return self._seed

    @property
    def constraint(self) -> Constraint | None:
        """The grammar's state after the committed tokens."""
        return self._constraint

    @property
    def rule(self) -> Rule:
        """How `verify` must judge sampled drafts: coupled noise only allows matching."""
        return "match" if self._params.reproducible else "block"

    def commit(self, token: int) -> None:
        """Advance the grammar; `token` must be allowed and not end the generation."""
        if self._constraint is not None:
            self._constraint = self._constraint.advanced(token)

    def dist(self, row: Row, history: Tokens, constraint: Constraint | None = None) -> Dist:
        """The shaped distribution after `history`; `constraint` is the state after it too."""
        return shaped(row, self._params, history, constraint)

    def draw(self, dist: Dist, position: int) -> int:
        """The target's token at `position`: one number of the target's stream, whatever `dist`.

        Reproducible: decided by (seed, position) and `dist` alone.
        """
        if self._params.reproducible:
            return coupled_draw(dist, self._seed, position)
        return dist.draw(next(self._target))

    def uniform(self) -> float:
        """A number in [0, 1) of the acceptance stream."""
        # A draft drawn from the target's own noise is not independent of what follows a refusal.
        assert not self._params.reproducible, "reproducible drafts are verified by matching"
        return next(self._acceptance)

    def draw_draft(self, dist: Dist, position: int) -> int:
        """A drafter's token at `position`."""
        if self._params.reproducible:
            return coupled_draw(dist, self._seed, position)
        return dist.draw(next(self._draft))


def _numbers(seed: np.random.SeedSequence) -> Iterator[float]:
    """A stream of numbers in [0, 1), one by one; numpy is asked for many at a time, because a call
    costs more than the numbers."""
    stream = np.random.default_rng(seed)
    while True:
        yield from stream.random(_AT_ONCE).tolist()


def _check_bias(params: Sampling, n_vocab: int) -> None:
    for token, bias in params.logit_bias:
        if not 0 <= token < n_vocab:
            raise UsageError(
                f"logit_bias names token {token}, but the vocabulary ends at {n_vocab - 1:,}"
            )
        if math.isnan(bias):
            raise UsageError(f"logit_bias of token {token} is not a number")
