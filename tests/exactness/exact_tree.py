"""Runs a random procedure once for every outcome of its random numbers, with exact probabilities.

The procedure is production code: it sees a sampler whose `uniform` and `draw` fork the run, and
distributions in `fractions.Fraction`, so that the law it gives is a law of rationals.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TypeVar, cast

import numpy as np

from edgespec.core import Dist, Probs, Sampler, Tokens

Outcome = TypeVar("Outcome", bound=Hashable)
Option = TypeVar("Option")


class ExactDist(Dist):
    """A `Dist` whose probabilities are rationals."""

    __slots__ = ()

    # A rational is no float to a type checker, but the rules compute with either.
    def prob(self, token: int) -> Fraction:  # type: ignore[override]
        at = np.flatnonzero(self.ids == token)
        return cast(Fraction, self.probs[at[0]]) if len(at) else Fraction(0)

    def probs_of(self, ids: Tokens) -> Probs:
        return np.array([self.prob(token) for token in ids], object)


def exact(probs: Sequence[Fraction | int]) -> ExactDist:
    """A distribution over 0, 1, ...; zeros are left out."""
    kept = [token for token, p in enumerate(probs) if p]
    return ExactDist(
        np.array(kept, np.int32), np.array([Fraction(probs[token]) for token in kept], object)
    )


class Uniform:
    """A number in [0, 1) that is not drawn yet; being compared decides it."""

    def __init__(self, coins: "Coins", scale: Fraction = Fraction(1)) -> None:
        self._coins, self._scale = coins, scale

    def __mul__(self, factor: Fraction) -> "Uniform":
        return Uniform(self._coins, self._scale * factor)

    def __lt__(self, bound: Fraction) -> bool:
        chance = min(Fraction(1), max(Fraction(0), bound / self._scale))
        return bool(self._coins.choose([(True, chance), (False, 1 - chance)]))


class Coins:
    """A `core.Sampler` that follows a script of choices and notes the ways not taken."""

    constraint = None

    @property
    def sampler(self) -> Sampler:
        """Itself: a `Uniform` is no float to a type checker, but the rules only compare it."""
        return cast(Sampler, self)

    def __init__(self, script: tuple[int, ...], pending: list[tuple[int, ...]]) -> None:
        self._script, self._pending = script, pending
        self._taken: tuple[int, ...] = ()
        self.chance = Fraction(1)

    def choose(self, options: list[tuple[Option, Fraction]]) -> Option:
        options = [option for option in options if option[1]]
        assert sum(chance for _, chance in options) == 1, options
        at = len(self._taken)
        if at < len(self._script):
            choice = self._script[at]
        else:
            choice = 0
            self._pending += [(*self._taken, other) for other in range(1, len(options))]
        self._taken += (choice,)
        value, chance = options[choice]
        self.chance *= chance
        return value

    def uniform(self) -> Uniform:
        return Uniform(self)

    def draw(self, dist: Dist, position: int) -> int:
        return int(self.choose(list(zip(dist.ids.tolist(), dist.probs, strict=True))))

    def draw_draft(self, dist: Dist, position: int) -> int:
        return self.draw(dist, position)


def law_of(procedure: Callable[[Coins], Outcome]) -> dict[Outcome, Fraction]:
    """The exact probability of every outcome."""
    law: dict[Outcome, Fraction] = defaultdict(Fraction)
    pending: list[tuple[int, ...]] = [()]
    while pending:
        coins = Coins(pending.pop(), pending)
        outcome = procedure(coins)
        law[outcome] += coins.chance
    assert sum(law.values()) == 1
    return dict(law)
