"""Where a step stands, and what an arm promises there. All times are in plain steps."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from edgespec.control.costs import LONGEST
from edgespec.costs import class_of

NEGLIGIBLE = 0.01
"""Survival from which on a draft is not looked at further."""
_AHEAD = 16
"""Tokens that a draft model's next ones are looked ahead."""
CLASSES = tuple(class_of(n) for n in range(LONGEST + 3))
"""By rows: where `Situation.least_more` tells of them."""
UNKNOWN = (-inf,) * (CLASSES[-1] + 1)
"""In place of `least_more`: every length is looked at."""


class Situation(NamedTuple):
    """One step's circumstances, the same for all arms."""

    relative: Sequence[float]
    """relative[n]: a pass over n rows."""
    worth: float
    """Tokens that a plain step's time brings of late: 1 or more."""
    most: float
    """The dearest step that the ledger permits."""
    limit: int
    """Most tokens of a draft."""
    only: bool
    """Exactly `limit` tokens, or none."""
    left: float
    """Tokens that the answer is expected to go on for."""
    most_sure: float = 0.0
    """`most` for a draft that nearly always comes true, if that is more."""
    token_cost: float = 0.0
    """A draft model's pass for a token; 0 without one."""
    read_cost: float = 0.0
    """A token of context that it reads."""
    least_more: Sequence[float] = UNKNOWN
    """See `LiveCosts.least_more`: drafts are looked at no further than that allows."""

    def priced(self, worth: float) -> "Situation":
        """The same, were time worth so much."""
        return self._replace(worth=worth)


class Length(NamedTuple):
    """A draft length of a draft model, and what it promises."""

    k: int
    gain: float
    """Tokens beyond those without it, less what its time is worth."""
    tokens: float
    """Expected, the target's own included."""


def best_length(
    at: Situation,
    most: int,
    first: float,
    then: float,
    *,
    n: int = 0,
    survives: float = 1.0,
    first_cost: float = 0.0,
) -> Length:
    """How far to go on from `n` drafted tokens, of at most `most`; the best of all lengths.

    The next token comes true with probability `first`, those behind it with `then`; the first one
    costs `first_cost`, its pass being made already or not. All lengths are looked at: on a curve
    with steps, a longer draft may pay where a shorter one does not.
    """
    relative, worth, only = at.relative, at.worth, at.only
    token_cost, least_more = at.token_cost, at.least_more
    best, best_gain, best_tokens = n, 0.0, 1.0
    gain, tokens, rate, cost = 0.0, 1.0, first, first_cost
    for k in range(n + 1, min(most, n + _AHEAD) + 1):
        survives *= rate
        tokens += survives
        gain += survives - worth * (relative[k + 1] - relative[k] + cost)
        if gain > best_gain and (k == most or not only):
            best, best_gain, best_tokens = k, gain, tokens
        # All that follow survive no better than the next, and cost no less.
        least = worth * (least_more[CLASSES[k + 2]] + token_cost)
        if survives * then <= least or survives < NEGLIGIBLE:
            break
        rate, cost = then, token_cost
    return Length(best, best_gain, best_tokens)
