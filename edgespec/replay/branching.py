"""Recorded trees and windows as a controller sees them."""

from collections.abc import Iterator, Sequence

from edgespec.core import Draft, Sampler, Tokens
from edgespec.drafters.arms import Heard, Offer, Rates
from edgespec.drafters.lookahead import LookaheadDrafter, window_buckets, window_offers
from edgespec.drafters.tree import TreeDrafter
from edgespec.drafters.ways import n_accepted, offered
from edgespec.replay.trace import Trace


class TracedTree:
    """Implements `arms.Branching`: trees of the ways that were recorded."""

    name = TreeDrafter.name
    buckets = TreeDrafter.buckets
    best = TreeDrafter.best

    def __init__(self, trace: Trace) -> None:
        self._trees = trace.trees
        self._start = trace.prompt_tokens
        self._order: Sequence[int] = ()
        self._looked_at: int | None = None

    def offers(self, context: Tokens, most: int, rates: Rates, heard: Heard) -> Sequence[Offer]:
        """See `TreeDrafter.offers`."""
        at = len(context) - self._start
        if self._looked_at is not None and at > self._looked_at:
            self._judge(self._looked_at, heard)
        self._looked_at, self._order = at, ()
        ways = self._trees[at].ways
        if len(ways) < 2:
            return ()
        offers, self._order = offered(ways, most, rates)
        return offers

    def is_meant(self, k: int) -> bool:
        """Always: no chain has its name."""
        return True

    def accepted(self, context: int, k: int) -> int:
        """Tokens that the tree of k nodes, which was offered last, has right."""
        grown = self._trees[context - self._start]
        return n_accepted(grown.ways, grown.accepted, self._order[:k])

    def way(self, n_nodes: int, depth: int) -> Sequence[int]:
        """See `TreeDrafter.way`."""
        return ()

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """Never called: a replay has no tokens."""
        raise AssertionError("a replay drafts nothing")

    def _judge(self, at: int, heard: Heard) -> None:
        grown = self._trees[at]
        for way, accepted in zip(grown.ways, grown.accepted, strict=True):
            if way.is_other and way.leaves == 0:
                heard(way.kinds[0][1], accepted > 0)


class TracedWindow:
    """Implements `arms.Branching`: lookahead's window as it ran beside the recorded answer."""

    name = LookaheadDrafter.name
    buckets = LookaheadDrafter.buckets
    best = LookaheadDrafter.best

    def __init__(self, trace: Trace) -> None:
        self._windows = trace.windows
        self._start = trace.prompt_tokens

    def offers(self, context: Tokens, most: int, rates: Rates, heard: Heard) -> Iterator[Offer]:
        """See `LookaheadDrafter.offers`."""
        return window_offers(most, rates[self.name])

    def is_meant(self, k: int) -> bool:
        """Whether k is the size of a window, and not of a chain from the pool."""
        return k in self._windows

    def accepted(self, context: int, k: int) -> int:
        """Tokens that the window of k nodes has right."""
        return self._windows[k][context - self._start]

    def way(self, n_nodes: int, depth: int) -> Sequence[int]:
        """See `LookaheadDrafter.way`."""
        return window_buckets(n_nodes, depth)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """Never called: a replay has no tokens."""
        raise AssertionError("a replay drafts nothing")
