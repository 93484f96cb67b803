"""What a controller asks of drafters before it chooses one: the seam for further ones.

A new drafter becomes an arm of "auto" by a file that fulfils one of these, and its line in the
registry. Knows no models.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from edgespec.core import Draft, Sampler, Steering, Tokens


@dataclass(frozen=True, slots=True)
class Bucket:
    """A kind of drafted token: those that come true about equally often."""

    name: str
    """For a person, as "match 6-8"."""
    prior: float
    """How often they come true, before anything was seen."""


class Offer(NamedTuple):
    """A pass with more rows than any way through it has tokens, and what it promises."""

    n_nodes: int
    """Draft tokens, of all ways together: the pass has one row more."""
    tokens: float
    """Expected to come true, along one of the ways."""


Rates = Mapping[str, Sequence[float]]
"""How often tokens come true, by drafter and bucket."""
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


@runtime_checkable
class Branching(Protocol):
    """A drafter whose drafts are trees: costs no pass, but more rows than its draft is long."""

    name: str

    @property
    def buckets(self) -> Sequence[Bucket]:
        """The kinds of tokens that are its own; others may be those of free drafters."""
        ...

    @property
    def best(self) -> Sequence[Offer]:
        """What it can offer on the best of texts: where the curve makes even that too dear, it
        is not asked. Empty: that depends on each step."""
        ...

    def offers(self, context: Tokens, most: int, rates: Rates, heard: Heard) -> Iterable[Offer]:
        """What it could draft after `context` with at most `most` nodes.

        `rates` of itself and of the free drafters beside it, which have caught up with `context`.
        `heard` as in `Free`, for tokens that need no pass to be judged.
        """
        ...

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """See `core.Drafter`; k nodes, where it offered k."""
        ...

    def way(self, n_nodes: int, depth: int) -> Sequence[int]:
        """Buckets of the first `depth` tokens of a way that only a pass can judge: whether they
        come true is told to the controller by the step. Empty where all are heard of."""
        ...
