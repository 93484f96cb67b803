"""In which order prompts and arms take their turns: random by a seed, fair by construction."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from random import Random
from typing import TypeVar

from edgespec.bench.suite import BenchPrompt

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


@dataclass(frozen=True, slots=True)
class Task:
    """What is measured with every arm before the next one is."""

    prompt: BenchPrompt
    temperature: float


def spread(
    prompts: Sequence[BenchPrompt], temperatures: Sequence[float], random: Random
) -> list[Task]:
    """All prompts at all temperatures, so that wherever the list is cut off, what stands before
    has as many kinds, then languages and temperatures as it can.

    One of each kind comes first, then a second one of each; kinds begin with different languages
    and temperatures. Shorter ones go before longer ones, as `prompts` has them.
    """
    by_kind: dict[str, list[BenchPrompt]] = {}
    for prompt in prompts:
        by_kind.setdefault(prompt.kind, []).append(prompt)
    rows = [_of_kind(i, found, temperatures) for i, found in enumerate(by_kind.values())]
    columns = zip_longest(*rows)
    return [task for column in columns for task in mixed([t for t in column if t], random)]


def _of_kind(at: int, prompts: Sequence[BenchPrompt], temperatures: Sequence[float]) -> list[Task]:
    """The tasks of the kind number `at`, in the order in which they are taken."""
    n = len(temperatures)
    rotated: list[BenchPrompt] = []
    for length in dict.fromkeys(prompt.length for prompt in prompts):
        same = [prompt for prompt in prompts if prompt.length == length]
        rotated += same[at % len(same) :] + same[: at % len(same)]
    # All languages at some temperature come before any at a second one.
    return [
        Task(prompt, temperatures[(at + j + shift) % n])
        for shift in range(n)
        for j, prompt in enumerate(rotated)
    ]


def mixed(items: Sequence[T], random: Random) -> list[T]:
    """`items` shuffled within blocks of four: what tells most stays among the first."""
    blocks = (items[i : i + _BLOCK] for i in range(0, len(items), _BLOCK))
    return [item for block in blocks for item in random.sample(block, len(block))]
