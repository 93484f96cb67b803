"""A drafter that says whatever its contract allows: chains and trees, right and wrong, sampled too.

It may know the truth, so that drafts of any quality come up; what it says of the law is true.
"""

import random
from collections.abc import Callable, Sequence

import numpy as np

from edgespec.core import Branch, Dist, Draft, Logits, Sampler, Tokens

_MOST_Q = 6
"""Tokens of a draft's distribution."""


class Chaos:
    """Random drafts, a function of `rng` alone; `truth` is what it may copy from."""

    name = "chaos"
    needs_draft_model = False

    def __init__(self, n_vocab: int, is_eog: Callable[[int], bool], max_branches: int) -> None:
        self._n_vocab = n_vocab
        self._is_eog = is_eog
        self._max_branches = max_branches
        self.rng = random.Random(0)
        self.truth: Sequence[int] = ()
        self.may_sample = True
        self.n_learned = 0
        self._shown: Draft | None = None

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k nodes: a trunk, and branches that leave it anywhere."""
        rng, n = self.rng, len(context)
        is_sampled = self.may_sample and rng.random() < 0.5
        rightness = rng.choice((0.0, 0.5, 0.9, 1.0))
        room = rng.randint(0, k)
        n_trunk = rng.randint(0, room)
        q: list[Dist] = []
        trunk = self._chain(n, n_trunk, rightness, sampler if is_sampled else None, q)
        branches: list[Branch] = []
        left = room - len(trunk)
        while left and len(branches) < self._max_branches and rng.random() < 0.8:
            leaves = rng.randint(0, len(trunk))
            dists: list[Dist] = []
            by = sampler if is_sampled and rng.random() < 0.5 else None
            tokens = self._chain(n + leaves, rng.randint(1, left), rightness, by, dists)
            branches.append(Branch(n + leaves, tokens, tuple(dists)))
            left -= len(tokens)
        self._shown = Draft(trunk, tuple(q), tuple(branches), match=rng.randint(0, 3))
        return self._shown

    def learn(self, context: Tokens, logits: Logits) -> None:
        """The rows of everything that was drafted must be there."""
        draft, self._shown = self._shown, None
        if draft is None:
            return
        assert len(logits) == 1 + len(draft.tokens), (len(logits), draft)
        for b, branch in enumerate(draft.branches):
            rows = logits.branch(b)
            assert len(rows) == len(branch.tokens), (b, draft)
            assert all(np.isfinite(row).all() for row in rows)
        self.n_learned += 1

    def _chain(
        self, start: int, n: int, rightness: float, sampler: Sampler | None, dists: list[Dist]
    ) -> tuple[int, ...]:
        tokens: list[int] = []
        for at in range(start, start + n):
            token = self._guess(at, rightness)
            if sampler is not None:
                q = self._around(token)
                dists.append(q)
                token = sampler.draw_draft(q, at)
            tokens.append(token)
            if self._is_eog(token):
                break
        return tuple(tokens)

    def _guess(self, at: int, rightness: float) -> int:
        if at < len(self.truth) and self.rng.random() < rightness:
            return int(self.truth[at])
        return self.rng.randrange(self._n_vocab)

    def _around(self, token: int) -> Dist:
        others = (self.rng.randrange(self._n_vocab) for _ in range(self.rng.randrange(_MOST_Q)))
        ids = np.unique(np.array([token, *others], np.int32))
        weights = np.array([self.rng.random() + 0.01 for _ in ids])
        weights[ids == token] *= self.rng.choice((1, 10, 1000))
        return Dist(ids, weights / weights.sum())
