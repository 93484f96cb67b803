"""In which order prompts and arms take their turns: random by a seed, fair by construction."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil
from random import Random
from typing import TypeVar

from edgespec.bench.suite import BenchPrompt

T = TypeVar("T")
_BLOCK = 4
_NEAR = 4
"""Arms that share one answer of the arm they are compared with."""


def abba(
    arms: Sequence[str], n_rounds: int, random: Random, base: str | None = None
) -> list[tuple[str, ...]]:
    """Two turns of all arms per round, the second in reverse order, so that drift cancels out.

    The first order of a round is drawn: no arm profits from always following the same other. `base`
    is what all others are compared with, and has its turn amid every four of them: a machine that
    is slow for a minute is then slow for both.
    """
    others = [arm for arm in arms if arm != base]
    turns: list[tuple[str, ...]] = []
    for _ in range(n_rounds):
        forth = tuple(random.sample(others, len(others)))
        if base is not None:
            forth = _amid(forth, base, random)
        turns += [forth, forth[::-1]]
    return turns


def _amid(arms: Sequence[str], base: str, random: Random) -> tuple[str, ...]:
    """`arms` in parts of at most four, as even as can be, with `base` in the middle of each."""
    n_parts = max(1, ceil(len(arms) / _NEAR))
    found: list[str] = []
    for i in range(n_parts):
        begin, end = (len(arms) * at // n_parts for at in (i, i + 1))
        middle = (begin + end + random.randrange(2)) // 2
        found += [*arms[begin:middle], base, *arms[middle:end]]
    return tuple(found)


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
