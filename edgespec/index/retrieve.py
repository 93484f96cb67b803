"""From a context to what followed its end elsewhere: the longest match wins, places vote.

Owns which shard is asked how; knows no drafts and no costs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgespec.index.shard import NOTHING, Found, Shard
from edgespec.index.suffix_array import DEPTH, SEPARATOR

LEAST = 3
"""Tokens of a match that say anything: shorter ones occur everywhere."""
_AHEAD = 63
"""Tokens that are looked at: as many as a pass can check."""
_BLOCK = 8
"""Tokens that are read at once, and all others behind them."""
_VOTERS = 16
"""Places that are looked at; the reference's 5,000 change no vote but cost a millisecond."""


_Place = tuple[Shard, int]
"""A shard, and the index of a token in it."""


class Said(NamedTuple):
    """A token that followed, and how many of the places that went that way said so."""

    token: int
    n_for: int
    n_of: int


class Retrieved:
    """What followed the longest match, token by token, read as far as somebody asks."""

    def __init__(self, said: Iterator[Said], match: int) -> None:
        self.match = match
        """Tokens of the context's end that stand there; 0: nowhere."""
        self._known: list[Said] = []
        self._more = said

    def __iter__(self) -> Iterator[Said]:
        yield from self._known
        while (said := next(self._more, None)) is not None:
            self._known.append(said)
            yield said

    def tokens(self, k: int) -> tuple[int, ...]:
        """The first k tokens, or fewer where the documents end."""
        return tuple(said.token for said in islice(self, k))


@dataclass(slots=True)
class _Searched:
    """A shard, and where its last search ended: the next one mostly goes on from there."""

    shard: Shard
    n_context: int = 0
    length: int = 0
    found: Found = field(default=NOTHING)


class Retriever:
    """Shards of one vocabulary, searched together; one thread at a time. `close` frees them."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._searched = [_Searched(shard) for shard in shards]

    def __len__(self) -> int:
        """Tokens in all shards."""
        return sum(len(one.shard) for one in self._searched)

    def retrieve(self, context: npt.NDArray[np.int32]) -> Retrieved:
        """What followed the longest suffix of `context` known here."""
        end = (context[-DEPTH:] + 1).astype(">u4").tobytes()
        for one in self._searched:
            advanced = len(context) - one.n_context
            likely = one.length + advanced if one.length and 0 <= advanced <= DEPTH else 0
            one.found = one.shard.longest(end, LEAST, likely)
            one.n_context, one.length = len(context), one.found.length
        best = max((one.found.length for one in self._searched), default=0)
        equal = [one for one in self._searched if best and one.found.length == best]
        voters = max(1, _VOTERS // max(1, len(equal)))
        ends = ((one.shard, one.shard.ends(one.found, voters)) for one in equal)
        places = [(shard, start) for shard, starts in ends for start in starts]
        return Retrieved(_said(places), best)

    def restart(self) -> None:
        """Forget where the last search ended."""
        for one in self._searched:
            one.n_context = one.length = 0

    def close(self) -> None:
        """Free the shards; idempotent."""
        for one in self._searched:
            one.shard.close()
        self._searched = []


def _said(places: Sequence[_Place]) -> Iterator[Said]:
    """The chain of majorities, read block by block where it leads."""
    n_read, size = 0, _BLOCK
    while places:
        alive = [(shard.read(start + n_read, size), shard, start) for shard, start in places]
        for i in range(size):
            token, n_for = majority([row[i] for row, _, _ in alive])
            if token == SEPARATOR:
                return
            yield Said(token - 1, n_for, len(alive))
            if n_for < len(alive):
                alive = [place for place in alive if place[0][i] == token]
        places = [(shard, start) for _, shard, start in alive]
        n_read, size = n_read + size, _AHEAD - _BLOCK


def majority(tokens: Sequence[int]) -> tuple[int, int]:
    """The token that most say, and how many; ties: the one seen first, so that equal contexts give
    equal drafts."""
    if tokens.count(tokens[0]) == len(tokens):
        return tokens[0], len(tokens)
    return max(Counter(tokens).items(), key=lambda item: item[1])
