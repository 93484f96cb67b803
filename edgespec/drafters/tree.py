"""Several free drafters' guesses as one tree, verified in one pass.

Where retrieval from the conversation and from the index disagree, or the conversation itself went
on in two ways, both are checked; which nodes are worth their rows is decided by the measured
curve. A chain is a tree too, so the choice is never worse than the best single drafter by its own
estimate. Source: SpecInfer (Miao et al. 2023, arXiv 2305.09781); picking nodes by survival as in
Sequoia (Chen et al. 2024, arXiv 2402.12374).
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

import numpy as np

from edgespec.core import Draft, Sampler, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.arms import Bucket, Free, Heard, Offer, Rates
from edgespec.drafters.automaton import AGREED, MOSTLY, ONCE, SPLIT
from edgespec.drafters.index import IndexDrafter
from edgespec.drafters.suffix import SuffixDrafter, ended
from edgespec.drafters.ways import Kind, Way, n_common, offered, planned

MOST_BRANCHES = 4
_LOOKED_AT = 31
"""Tokens of each guess."""
_FORKED = 8
"""Tokens of the first guess that are looked at for another way."""
_OTHER_NAMES = ("seen once", "always so", "mostly so", "or other")
_OTHER_PRIORS = (0.01, 0.06, 0.15, 0.1)
"""Measured on answers of Qwen2.5-Coder-1.5B to edits, extraction, summaries and chat."""
_N_AGREEMENTS = len(_OTHER_NAMES)
assert tuple(range(_N_AGREEMENTS)) == (ONCE, AGREED, MOSTLY, SPLIT)


class TreeDrafter:
    """Suffix and index, merged; deterministic in the context and what it saw come true.

    Asked by itself, it chooses its size by the curve and by how often tokens of a kind came true
    for it; a controller that takes its `offers` brings its own estimates.
    """

    name = "tree"
    needs_draft_model = False
    needs_branches = MOST_BRANCHES
    buckets = tuple(
        Bucket(f"other way than {name}", prior)
        for name, prior in zip(_OTHER_NAMES, _OTHER_PRIORS, strict=True)
    )
    best = ()

    def __init__(self, inputs: DrafterInputs) -> None:
        self._costs = inputs.costs
        self._is_eog = inputs.is_eog
        self._suffix = _shared(inputs, SuffixDrafter)
        self._sources: list[_Source] = [self._suffix]
        if inputs.retriever is not None:
            self._sources.append(_shared(inputs, IndexDrafter))
        self._own = {source.name: _Seen(source.buckets) for source in self._sources}
        self._own[self.name] = _Seen(self.buckets)
        self._ways: Sequence[Way] = ()
        self._order: Sequence[int] = ()
        """Of which way each node is, the likeliest first; empty: not weighed."""
        self._context: Tokens = np.empty(0, np.int32)
        """What `_ways` were made for."""

    def offers(self, context: Tokens, most: int, rates: Rates, heard: Heard) -> Sequence[Offer]:
        """One for every size, smallest first; nothing where all guesses agree: that is a chain."""
        if len(self.ways(context, heard)) < 2:
            return ()
        offers, self._order = offered(self._ways, most, rates)
        return offers

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k nodes: what was offered, else the best size by the curve."""
        if k and not (self._order and np.array_equal(context, self._context)):
            k = self._best_size(context, k)
        return planned(self._ways, self._order[:k], len(context))

    def way(self, n_nodes: int, depth: int) -> Sequence[int]:
        """Nothing: all is heard of."""
        return ()

    def ways(self, context: Tokens, heard: Heard) -> Sequence[Way]:
        """The guesses after `context`: the first is the trunk, the others leave it."""
        n = len(self._context)
        if self._ways and len(context) > n and np.array_equal(context[:n], self._context):
            self._judge(int(context[n]), heard)
        self._order = ()
        self._context = context.copy()  # the caller's array may be a view of what grows on
        ways = [*self._guesses(context)]
        if ways and ways[0].kinds[0][0] == self._suffix.name:
            ways += self._others(ways)
        self._ways = ways[: 1 + MOST_BRANCHES]
        return self._ways

    def _best_size(self, context: Tokens, most: int) -> int:
        """The number of nodes with the most expected tokens per second; 0: plain decoding."""
        ways = self.ways(context, self._own[self.name].heard)
        rates = {name: seen.rates for name, seen in self._own.items()}
        offers, self._order = offered(ways, most, rates)
        best, best_speed = 0, 1 / self._costs.plain_s
        for offer in offers:
            speed = (1 + offer.tokens) / self._costs.of(1 + offer.n_nodes)
            if speed > best_speed:
                best, best_speed = offer.n_nodes, speed
        return best

    def _guesses(self, context: Tokens) -> Iterator[Way]:
        first: Way | None = None
        for source in self._sources:
            seen = self._own[source.name]
            buckets = list(islice(source.outlook(context, seen.heard), _LOOKED_AT))
            tokens = source.copied(context, len(buckets))
            if not tokens:
                continue
            kinds: tuple[Kind, ...] = tuple((source.name, b) for b in buckets[: len(tokens)])
            if first is None:
                first = Way(tokens, kinds, 0)
                yield first
                continue
            leaves = n_common(first.tokens, tokens)
            if leaves < min(len(tokens), len(first.tokens)):
                yield Way(tokens, kinds, leaves)

    def _others(self, ways: Sequence[Way]) -> list[Way]:
        """Other ways that the conversation went, from the first tokens of the trunk on."""
        trunk, found = ways[0], []
        taken = {(way.leaves, way.tokens[way.leaves]) for way in ways[1:]}
        for at, other in enumerate(self._suffix.others(min(_FORKED, len(trunk.tokens)))):
            tokens = ended([token for token, _ in other], self._is_eog)
            agreement = trunk.kinds[at][1] // _N_AGREEMENTS
            if agreement == ONCE or not tokens or (at, tokens[0]) in taken:
                continue  # of what was seen once, four in a thousand other ways came true
            kinds = [(self.name, agreement), *((self._suffix.name, b) for _, b in other[1:])]
            found.append(
                Way((*trunk.tokens[:at], *tokens), tuple(kinds[: len(tokens)]), at, is_other=True)
            )
        return found

    def _judge(self, token: int, heard: Heard) -> None:
        """Whether the other way at the first token was the one that was gone."""
        for way in self._ways:
            if way.is_other and way.leaves == 0:
                heard(way.kinds[0][1], way.tokens[0] == token)


class _Source(Free, Protocol):
    """A free drafter whose guesses are needed without a request."""

    def copied(self, context: Tokens, k: int) -> tuple[int, ...]:
        """The tokens that it would draft."""
        ...


_Made = TypeVar("_Made", SuffixDrafter, IndexDrafter)


def _shared(inputs: DrafterInputs, drafter: type[_Made]) -> _Made:
    """The one that was built beside this, which has read the context already; or an own one."""
    found = inputs.beside.get(drafter.name)
    return found if isinstance(found, drafter) else drafter(inputs)


class _Seen:
    """How often kinds of tokens came true, where no controller keeps count."""

    _PRIOR_WEIGHT = 8.0

    def __init__(self, buckets: Sequence[Bucket]) -> None:
        self.rates = [bucket.prior for bucket in buckets]
        self._seen = [self._PRIOR_WEIGHT] * len(buckets)

    def heard(self, bucket: int, is_hit: bool) -> None:
        """One came true, or did not."""
        self._seen[bucket] += 1
        self.rates[bucket] += (is_hit - self.rates[bucket]) / self._seen[bucket]
