"""In which order prompts and arms take their turns: random by a seed, fair by construction."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
_BLOCK = 4


def abba(arms: Sequence[str], n_rounds: int, random: Random) -> list[tuple[str, ...]]:
    """Two turns of all arms per round, the second in reverse order, so that drift cancels out.

    The first order of a round is drawn: no arm profits from always following the same other.
    """
    turns: list[tuple[str, ...]] = []
    for _ in range(n_rounds):
        forth = tuple(random.sample(arms, len(arms)))
        turns += [forth, forth[::-1]]
    return turns


def mixed(items: Sequence[T], random: Random) -> list[T]:
    """`items` shuffled within blocks of four: what tells most stays among the first."""
    blocks = (items[i : i + _BLOCK] for i in range(0, len(items), _BLOCK))
    return [item for block in blocks for item in random.sample(block, len(block))]
