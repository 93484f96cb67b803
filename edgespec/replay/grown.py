"""Recorded trees: at one position, the ways that drafters guessed, and how far the answer went."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from edgespec.drafters.ways import Kind, Way


@dataclass(frozen=True, slots=True)
class Grown:
    """What a drafter of trees would have drafted at one position; its ways hold no tokens."""

    ways: tuple[Way, ...]
    accepted: tuple[int, ...]
    """accepted[i]: leading tokens of way i, counted from the root, that the answer went on with."""


def to_json(grown: Grown) -> list[Any]:
    """[leaves, 1 if it is another way, accepted, [drafter, bucket, count, ...], ...] by way."""
    return [
        [way.leaves, int(way.is_other), accepted, *_runs(way.kinds)]
        for way, accepted in zip(grown.ways, grown.accepted, strict=True)
    ]


def from_json(found: Sequence[Sequence[Any]]) -> Grown:
    """What `to_json` wrote."""
    ways = (Way((), tuple(_unrolled(w[3:])), w[0], bool(w[1])) for w in found)
    return Grown(tuple(ways), tuple(w[2] for w in found))


def runs(buckets: Iterable[int]) -> list[int]:
    """Equal neighbours as bucket and count, one after the other."""
    return [x for bucket, same in groupby(buckets) for x in (bucket, len(list(same)))]


def unrolled(found: Sequence[int]) -> tuple[int, ...]:
    """What `runs` made shorter."""
    pairs = zip(found[::2], found[1::2], strict=True)
    return tuple(bucket for bucket, n in pairs for _ in range(n))


def _runs(kinds: Sequence[Kind]) -> list[list[Any]]:
    by_name = groupby(kinds, key=lambda kind: kind[0])
    return [[name, *runs(bucket for _, bucket in same)] for name, same in by_name]


def _unrolled(found: Sequence[Sequence[Any]]) -> Iterable[Kind]:
    for name, *rest in found:
        yield from ((name, bucket) for bucket in unrolled(rest))
