"""Several free drafters' guesses as one tree, verified in one pass.

Where retrieval from the conversation and from the index disagree, both ways are checked; which
nodes are worth their rows is decided by the measured curve. A chain is a tree too, so the choice
is never worse than the best single drafter by its own estimate. Source: SpecInfer (Miao et al.
2023, arXiv 2305.09781); picking nodes by survival as in Sequoia (Chen et al. 2024, arXiv
2402.12374).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from edgespec.core import Branch, Draft, Sampler, Tokens
from edgespec.costs import RowCosts
from edgespec.drafters import DrafterInputs
from edgespec.drafters.arms import Free
from edgespec.drafters.index import IndexDrafter
from edgespec.drafters.suffix import SuffixDrafter

_PRIOR_WEIGHT = 8.0
_LOOKED_AT = 31
"""Tokens of each guess."""
MOST_BRANCHES = 4


@dataclass(frozen=True, slots=True)
class Guess:
    """A chain, and for each of its tokens the chance that all up to it come true."""

    tokens: tuple[int, ...]
    survives: tuple[float, ...]


class _Source:
    """A free drafter and how often its kinds of tokens came true."""

    def __init__(self, drafter: Free) -> None:
        self._drafter = drafter
        self._hits = [_PRIOR_WEIGHT * bucket.prior for bucket in drafter.buckets]
        self._seen = [_PRIOR_WEIGHT] * len(drafter.buckets)

    def guess(self, context: Tokens, k: int, sampler: Sampler) -> Guess:
        """What it would draft, and how likely that is."""
        buckets = list(islice(self._drafter.outlook(context, self._heard), k))
        tokens = self._drafter.draft(context, len(buckets), sampler).tokens
        return Guess(tokens, tuple(self._survival(buckets[: len(tokens)])))

    def _survival(self, buckets: Sequence[int]) -> Iterator[float]:
        survives = 1.0
        for bucket in buckets:
            survives *= self._hits[bucket] / self._seen[bucket]
            yield survives

    def _heard(self, bucket: int, is_hit: bool) -> None:
        self._hits[bucket] += is_hit
        self._seen[bucket] += 1


class TreeDrafter:
    """Suffix and index, merged; deterministic in the context and what it saw come true."""

    name = "tree"
    needs_draft_model = False
    needs_branches = MOST_BRANCHES

    def __init__(self, inputs: DrafterInputs) -> None:
        self._costs = inputs.costs
        drafters: list[Free] = [SuffixDrafter(inputs)]
        if inputs.retriever is not None:
            drafters.append(IndexDrafter(inputs))
        self._sources = [_Source(drafter) for drafter in drafters]

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k nodes."""
        most = min(k, _LOOKED_AT)
        guesses = [source.guess(context, most, sampler) for source in self._sources]
        return best_tree([g for g in guesses if g.tokens], len(context), k, self._costs)


def best_tree(guesses: Sequence[Guess], n_context: int, k: int, costs: RowCosts) -> Draft:
    """The tree of up to k nodes with the most expected tokens per second; empty: plain decoding.

    Nodes are added by survival, which is right for independent estimates; every size is looked
    at, since the curve has steps.
    """
    paths: dict[tuple[int, ...], float] = {}
    for guess in guesses:
        for i, survives in enumerate(guess.survives, start=1):
            path = guess.tokens[:i]
            paths[path] = max(paths.get(path, 0.0), survives)
    ranked = sorted(paths, key=lambda path: (-paths[path], len(path), path))[:k]
    best_n, best_speed, expected = 0, 1 / costs.plain_s, 1.0
    for n, path in enumerate(ranked, start=1):
        expected += paths[path]
        speed = expected / costs.of(n + 1)
        if speed > best_speed:
            best_n, best_speed = n, speed
    return _as_draft(ranked[:best_n], n_context)


def _as_draft(paths: Sequence[tuple[int, ...]], n_context: int) -> Draft:
    """The longest path as trunk; every other leaf as a branch from where it leaves the trunk.

    Every path's beginnings are there too: survival only falls along a path.
    """
    known = set(paths)
    leaves = [
        path for path in paths if not any(len(o) == len(path) + 1 and o[:-1] == path for o in known)
    ]
    leaves.sort(key=len, reverse=True)
    if not leaves:
        return Draft()
    trunk, branches = leaves[0], []
    for leaf in leaves[1 : 1 + MOST_BRANCHES]:
        shared = next(i for i, (a, b) in enumerate(zip(trunk, leaf, strict=False)) if a != b)
        branches.append(Branch(n_context + shared, leaf[shared:]))
    return Draft(trunk, branches=tuple(branches))
