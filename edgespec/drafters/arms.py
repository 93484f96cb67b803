"""What a controller asks of drafters before it chooses one: the seam for further ones.

A new drafter becomes an arm of "auto" by a file that fulfils one of these, and its line in the
registry. Knows no models.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from edgespec.core import Draft, Sampler, Steering, Tokens


@dataclass(frozen=True, slots=True)
class Bucket:
    """A kind of drafted token: those that come true about equally often."""

    name: str
    """For a person, as "match 6-8"."""
    prior: float
    """How often they come true, before anything was seen."""


Heard = Callable[[int, bool], None]
"""Told the number of a bucket, and whether its token came true."""


@runtime_checkable
class Free(Protocol):
    """A drafter that costs no pass: what it would have said can be scored for every token."""

    name: str

    @property
    def buckets(self) -> Sequence[Bucket]:
        """The kinds of tokens it drafts; `outlook` gives their numbers."""
        ...

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        """The buckets of the tokens that `draft` would give, one after the other.

        First catches up with `context`: `heard` is told of every new token that there was a
        proposal for, drafted or not; nothing where the context was cut or replaced.
        """
        ...

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """See `core.Drafter`."""
        ...


@runtime_checkable
class Paid(Protocol):
    """A drafter with passes of its own: what it would say is known only where it was asked.

    It is also `core.Steered`.
    """

    name: str
    buckets: Sequence[Bucket]
    """First by how sure it is of a token, then as many by how sure it was of the one before."""
    shares: Sequence[float]
    """How often it is how sure of a token, usually; sums to 1."""

    @property
    def note(self) -> str:
        """Why it drafts nothing any more; empty while it works."""
        ...

    def bucket_of(self, confidence: float) -> int:
        """The bucket of a token that is drawn with this confidence."""
        ...

    def unread(self, context: Tokens) -> int:
        """Tokens that it must read before it can draft after `context`."""
        ...

    def read(self, context: Tokens, n_tokens: int, sampler: Sampler) -> None:
        """See `core.Steered`."""
        ...

    def draft_while(self, context: Tokens, k: int, sampler: Sampler, steering: Steering) -> Draft:
        """See `core.Steered`."""
        ...
