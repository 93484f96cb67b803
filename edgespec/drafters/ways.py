"""Ways that a text may go on, as one tree: which nodes come first, and the draft that they make.

The first way is the trunk, the others leave it. Knows kinds of tokens and how often they come
true; needs no tokens to weigh a tree, so that recorded ones can be weighed too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from edgespec.core import Branch, Draft
from edgespec.drafters.arms import Offer, Rates

Kind = tuple[str, int]
"""A drafter, and a bucket of it."""
_NEGLIGIBLE = 0.01
"""Survival from which on a node is left out."""


@dataclass(frozen=True, slots=True)
class Way:
    """One guess, from the root."""

    tokens: tuple[int, ...]
    kinds: tuple[Kind, ...]
    """Of its tokens; of an `is_other` only from where it leaves the trunk."""
    leaves: int
    """Tokens that it shares with the trunk; 0 for the trunk itself."""
    is_other: bool = False
    """It was looked for along the trunk, and is no guess of a drafter."""


def offered(ways: Sequence[Way], most: int, rates: Rates) -> tuple[list[Offer], list[int]]:
    """What the tree of the n likeliest nodes promises, for every n up to `most`; and of which way
    each node is, the likeliest first.

    Nodes are added by survival, which is right for independent estimates; parents come before
    their children, since survival only falls along a way.
    """
    nodes = sorted(_nodes(ways, rates), key=_by_survival)[:most]
    offers, tokens = [], 0.0
    for n, (survives, _) in enumerate(nodes, start=1):
        tokens += survives
        offers.append(Offer(n, tokens))
    return offers, [way for _, way in nodes]


def planned(ways: Sequence[Way], order: Sequence[int], n_context: int) -> Draft:
    """The tree of the nodes whose ways are listed in `order`, after `n_context` tokens."""
    if not order:
        return Draft()
    n_trunk, trunk = order.count(0), 0
    for i in range(1, len(ways)):
        if ways[i].leaves == n_trunk and i in order:  # where the trunk ends, a way goes on with it
            trunk, n_trunk = i, n_trunk + order.count(i)
            break
    branches = []
    for i in range(1, len(ways)):
        n = order.count(i)
        if n and i != trunk:
            at = ways[i].leaves
            branches.append(Branch(n_context + at, ways[i].tokens[at : at + n]))
    return Draft(ways[trunk].tokens[:n_trunk], branches=tuple(branches))


def n_accepted(ways: Sequence[Way], accepted: Sequence[int], order: Sequence[int]) -> int:
    """Tokens that such a tree has right, where the text goes `accepted[i]` tokens along way i."""
    best = min(order.count(0), accepted[0]) if ways else 0
    for i in range(1, len(ways)):
        n, leaves = order.count(i), ways[i].leaves
        if n and accepted[i] > leaves:
            best = max(best, min(leaves + n, accepted[i]))
    return best


def best_way(draft: Draft, n_context: int, text: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The way through a draft that a text follows longest, and for how many tokens."""
    ways = [draft.along(way, n_context) for way in (None, *range(len(draft.branches)))]
    right = [n_common(way, text) for way in ways]
    best = max(range(len(ways)), key=right.__getitem__)
    return ways[best], right[best]


def n_common(a: Sequence[int], b: Sequence[int]) -> int:
    """Leading tokens that are the same."""
    differs = (i for i, (mine, theirs) in enumerate(zip(a, b, strict=False)) if mine != theirs)
    return next(differs, min(len(a), len(b)))


def _by_survival(node: tuple[float, int]) -> float:
    return -node[0]


def _nodes(ways: Sequence[Way], rates: Rates) -> list[tuple[float, int]]:
    """Survival and way of every node that is worth a thought, parents first."""
    if not ways:
        return []
    likely = [rates[name][bucket] for name, bucket in ways[0].kinds]
    for way in ways[1:]:
        if not way.is_other:  # two drafters say the same: the surer one counts
            for i, (name, bucket) in enumerate(way.kinds[: way.leaves]):
                likely[i] = max(likely[i], rates[name][bucket])
    nodes, along, survives = [], [1.0], 1.0
    for rate in likely:
        survives *= rate
        if survives < _NEGLIGIBLE:
            break
        along.append(survives)
        nodes.append((survives, 0))
    for i, way in enumerate(ways[1:], start=1):
        if way.leaves >= len(along):
            continue
        survives = along[way.leaves]
        for name, bucket in way.kinds[0 if way.is_other else way.leaves :]:
            survives *= rates[name][bucket]
            if survives < _NEGLIGIBLE:
                break
            nodes.append((survives, i))
    return nodes
