"""Token recycling as a drafter: what followed a token in any row that was verified.

Each verified row, of an accepted token or of a refused one, tells the likeliest successors of the
token that it stands for; a tree of successors of successors is the next draft. Not registered:
`edgespec doctor --recycling MODEL` measures why. Source: Luo et al. 2024 (arXiv 2408.08696).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

import numpy as np

from edgespec.core import Branch, Draft, Logits, Row, Sampler, Tokens

N_SUCCESSORS = 8
"""As the paper keeps."""
_BY_RANK = (0.40, 0.14, 0.07, 0.05, 0.04, 0.03, 0.02, 0.02)
"""How likely the n-th successor comes next, as measured on recorded answers: what orders nodes."""
_LANES = 1024


@dataclass(frozen=True, slots=True)
class Node:
    """A token of the tree."""

    parent: int
    """Its number in the tree, -1 for the last token of the context."""
    token: int
    is_trunk: bool
    """The likeliest successor of the likeliest successor of …"""


class Recycling:
    """Implements `core.Drafter` and `core.LearnsFromTarget`.

    Its table outlives answers: more than a drafter of edgespec's may keep, and in its favour here.
    """

    name = "recycling"

    def __init__(self, is_eog: Callable[[int], bool]) -> None:
        self._is_eog = is_eog
        self._successors: dict[int, tuple[int, ...]] = {}
        self._root = 0
        self._draft = Draft()
        self.tree: tuple[Node, ...] = ()
        """Of the last draft, the most promising first: its beginnings are the smaller trees."""

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """A tree of at most k nodes; empty where the last token stood for no row yet."""
        self._root = int(context[-1])
        self.tree = tuple(self._grown(k))
        self._draft = as_draft(self.tree, len(context))
        return self._draft

    def learn(self, context: Tokens, logits: Logits) -> None:
        """Keep the likeliest successors that every row shows, refused ones included."""
        for b, branch in enumerate(self._draft.branches):
            for token, row in zip(branch.tokens, logits.branch(b), strict=True):
                self._successors[token] = likeliest(row)
        for i, token in enumerate((self._root, *self._draft.tokens)):
            self._successors[token] = likeliest(logits[i])

    def _grown(self, k: int) -> Iterator[Node]:
        """Nodes by how likely they come true. Off the trunk only the likeliest go on, so that
        every other way is one branch and no token is decoded twice."""
        waiting: list[tuple[float, int, Node]] = []
        order = count()  # of equals, the earlier

        def offer(parent: int, token: int, chance: float, is_trunk: bool) -> None:
            known = () if self._is_eog(token) else self._successors.get(token, ())
            n = N_SUCCESSORS if is_trunk else 1
            for rank, (next_token, share) in enumerate(zip(known[:n], _BY_RANK, strict=False)):
                node = Node(parent, next_token, is_trunk and rank == 0)
                heappush(waiting, (-chance * share, next(order), node))

        offer(-1, self._root, 1.0, is_trunk=True)
        for number in range(k):
            if not waiting:
                return
            chance, _, node = heappop(waiting)
            yield node
            offer(number, node.token, -chance, node.is_trunk)


def as_draft(tree: tuple[Node, ...], n_context: int) -> Draft:
    """The tree as a trunk and branches that leave it."""
    trunk: list[int] = []
    depth_of = {-1: 0}
    chains: dict[int, list[int]] = {}
    starts: dict[int, int] = {}
    chain_of: dict[int, int] = {}
    for number, node in enumerate(tree):
        if node.is_trunk:
            trunk.append(node.token)
            depth_of[number] = len(trunk)
            continue
        chain = chain_of.get(node.parent, number)
        chain_of[number] = chain
        chains.setdefault(chain, []).append(node.token)
        starts.setdefault(chain, n_context + depth_of.get(node.parent, 0))
    branches = (Branch(starts[chain], tuple(tokens)) for chain, tokens in chains.items())
    return Draft(tuple(trunk), branches=tuple(branches))


def likeliest(row: Row) -> tuple[int, ...]:
    """The ids of the largest logits, the largest first.

    Maxima over lanes find them in a sixth of the time of a partition of the whole row: the n
    largest lie in the n lanes with the largest maxima.
    """
    n_whole = len(row) // _LANES * _LANES
    if n_whole == 0:
        order = np.argsort(-row, kind="stable")[:N_SUCCESSORS]
        return tuple(order.tolist())
    most = row[:n_whole].reshape(-1, _LANES).max(axis=0)
    rest = row[n_whole:]
    np.maximum(most[: len(rest)], rest, out=most[: len(rest)])
    lanes = np.argpartition(most, -N_SUCCESSORS)[-N_SUCCESSORS:]
    ids = (np.arange(0, len(row), _LANES)[:, None] + lanes).ravel()
    ids = ids[ids < len(row)]
    best = np.argpartition(row[ids], -N_SUCCESSORS)[-N_SUCCESSORS:]
    best = best[np.argsort(-row[ids[best]])]
    return tuple(ids[best].tolist())
