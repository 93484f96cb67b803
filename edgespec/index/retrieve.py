"""From a context to what followed its end elsewhere: the longest match wins, places vote.

Owns which shard is asked how; knows no drafts and no costs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgespec.index.shard import NOTHING, WIDTH, Found, Shard
from edgespec.index.suffix_array import DEPTH, SEPARATOR

LEAST = 3
"""Tokens of a match that say anything: shorter ones occur everywhere."""
_AHEAD = 63
"""Tokens that are looked at: as many as a pass can check."""
_BLOCK = 8
"""Tokens that are read at once, and all others behind them."""
_VOTERS = 16
"""Places that are looked at; the reference's 5,000 change no vote but cost a millisecond."""


_STORED = np.dtype(">u4")

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
        known = self._known
        known.extend(islice(self._more, max(0, k - len(known))))
        return tuple([said.token for said in known[:k]])


@dataclass(slots=True)
class _Searched:
    """A shard, and what its last search found."""

    shard: Shard
    found: Found = NOTHING


class Retriever:
    """Shards of one vocabulary, searched together; one thread at a time. `close` frees them."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._searched = [_Searched(shard) for shard in shards]
        self._end = b""
        """Of the context that was searched for last."""
        self._n_context = 0

    def __len__(self) -> int:
        """Tokens in all shards."""
        return sum(len(one.shard) for one in self._searched)

    def retrieve(self, context: npt.NDArray[np.int32]) -> Retrieved:
        """What followed the longest suffix of `context` known here."""
        end = (context[-DEPTH:] + 1).astype(_STORED).tobytes()
        n_more = self._n_more(len(context), end)
        best, equal = 0, list[_Searched]()
        for one in self._searched:
            bound = None
            if n_more is not None:  # no match grows by more than the context
                bound = (one.found.length or LEAST - 1) + n_more
            one.found = one.shard.longest(end, LEAST, bound)
            length = one.found.length
            if length > best:
                best, equal = length, [one]
            elif length and length == best:
                equal.append(one)
        if not equal:
            return Retrieved(iter(()), 0)
        voters = max(1, _VOTERS // len(equal))
        places = [(one.shard, at) for one in equal for at in one.shard.ends(one.found, voters)]
        return Retrieved(_said(places), best)

    def _n_more(self, n_context: int, end: bytes) -> int | None:
        """Tokens by which the context continues the last one; None: it is another one."""
        n_more = n_context - self._n_context
        last, self._end, self._n_context = self._end, end, n_context
        if not last or not 0 <= n_more < DEPTH:
            return None
        return n_more if last.endswith(end[: len(end) - WIDTH * n_more]) else None

    def restart(self) -> None:
        """Forget the last search."""
        self._end = b""

    def close(self) -> None:
        """Free the shards; idempotent."""
        for one in self._searched:
            one.shard.close()
        self._searched = []


def _said(places: Sequence[_Place]) -> Iterator[Said]:
    """The chain of majorities, read block by block where it leads. Of equally many places, those
    that the first one is among win, so that equal contexts give equal drafts."""
    n_read, size = 0, _BLOCK
    while places:
        rows = [shard.read(start + n_read, size) for shard, start in places]
        columns: Iterator[tuple[int, ...]] = zip(*rows, strict=True)
        for i in range(size):
            column = next(columns)
            token, n_of = column[0], len(column)
            n_for = column.count(token)
            if 2 * n_for < n_of:
                token = max(dict.fromkeys(column), key=column.count)
                n_for = column.count(token)
            if token == SEPARATOR:
                return
            yield Said(token - 1, n_for, n_of)
            if n_for < n_of:
                kept = [j for j, other in enumerate(column) if other == token]
                rows, places = [rows[j] for j in kept], [places[j] for j in kept]
                columns = islice(zip(*rows, strict=True), i + 1, None)
        n_read, size = n_read + size, _AHEAD - _BLOCK
