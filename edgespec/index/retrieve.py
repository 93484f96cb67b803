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
_NOWHERE = np.empty((0, 0), np.uint32)
_VOTERS = 32
"""Places that are looked at; the reference's 5,000 change no vote but cost a millisecond."""


class Said(NamedTuple):
    """A token that followed, and how many of the places that went that way said so."""

    token: int
    n_for: int
    n_of: int


class Retrieved:
    """What followed the longest match, token by token, read as far as somebody asks."""

    def __init__(self, rows: npt.NDArray[np.uint32], match: int) -> None:
        """`rows`: what followed at each place, [places, length], as `stored`."""
        self.match = match
        """Tokens of the context's end that stand there; 0: nowhere."""
        self._known: list[Said] = []
        self._more = _voted(rows)

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
        end = (context[-DEPTH:].astype(np.uint32) + 1).astype(">u4").tobytes()
        for one in self._searched:
            advanced = len(context) - one.n_context
            likely = one.length + advanced if one.length and 0 <= advanced <= DEPTH else 0
            one.found = one.shard.longest(end, LEAST, likely)
            one.n_context, one.length = len(context), one.found.length
        best = max((one.found.length for one in self._searched), default=0)
        if not best:
            return Retrieved(_NOWHERE, 0)
        equal = [one for one in self._searched if one.found.length == best]
        voters = max(1, _VOTERS // len(equal))
        rows = [one.shard.continuations(one.found, _AHEAD, voters) for one in equal]
        return Retrieved(np.concatenate(rows), best)

    def restart(self) -> None:
        """Forget where the last search ended."""
        for one in self._searched:
            one.n_context = one.length = 0

    def close(self) -> None:
        """Free the shards; idempotent."""
        for one in self._searched:
            one.shard.close()
        self._searched = []


def _voted(rows: npt.NDArray[np.uint32]) -> Iterator[Said]:
    """The chain of majorities, until the documents of the majority end.

    Ties go to the token seen first, so that equal contexts give equal drafts.
    """
    while len(rows) > 1 and rows.shape[1]:
        counts = Counter(rows[:, 0].tolist())
        token, n = max(counts.items(), key=lambda item: item[1])
        if token == SEPARATOR:
            return
        yield Said(token - 1, n, len(rows))
        rows = rows[rows[:, 0] == token, 1:] if n < len(rows) else rows[:, 1:]
    for token in rows[:1].ravel().tolist():
        if token == SEPARATOR:
            return
        yield Said(token - 1, 1, 1)
