"""Verification of a tree of drafts: at every node its children are judged, and one way goes on.

Children that were sampled are tried in order, each by min(1, p/q), p becoming the residual when
one is refused; then one token is drawn from what is left of p, and a deterministic child that
says the same stands. One procedure is thus every exact rule for trees:

all deterministic     sample-and-match, which accepts as often as trying the children one by one
several sampled       recursive rejection without replacement (SpecInfer, arXiv 2305.09781; EAGLE)
sampled, then others  each child by its own q, in this order

A trunk without siblings may still be judged as a block. Knows neither rows nor caches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from edgespec.core import Branch, Dist, Draft, Rule, Sampler, Verdict
from edgespec.verify import residual, verify


class TreeTarget(Protocol):
    """p along a tree; computed when asked for."""

    def __call__(self, i: int) -> Dist:
        """The target's distribution after the trunk's first i tokens."""
        ...

    def after(self, branch: int, j: int) -> Dist:
        """Its distribution after the branch's first j tokens, j ≥ 1."""
        ...


@dataclass(frozen=True, slots=True)
class _Child:
    """A token that a node may be followed by; `branch` None: the trunk's."""

    token: int
    q: Dist | None
    branch: int | None


def verify_tree(
    draft: Draft, p: TreeTarget, sampler: Sampler, position: int, *, rule: Rule | None = None
) -> Verdict:
    """Judge a draft with branches, whose first token would stand at `position`.

    Deterministic trees use one draw of the target's stream per emitted token, as plain decoding
    does; `rule` is for a sampled trunk and taken as in `verify.verify`.
    """
    if rule is None:
        rule = sampler.rule
    if rule == "match":  # samples are then guesses like any other
        draft = _without_dists(draft)
    if draft.dists and rule == "block" and not any(b.dists for b in draft.branches):
        trunk = verify(Draft(draft.tokens, draft.dists), p, sampler, position, rule=rule)
        return _gone_on(draft, p, sampler, position, trunk)
    path: list[int] = []
    while True:
        children = _of_trunk(draft, position, len(path))
        taken, own = _judged(children, p(len(path)), sampler, position + len(path))
        if taken is None:
            return _ended(path, own, children, None)
        if taken.branch is not None:
            return _along(draft, p, sampler, position, path, taken, own)
        path.append(own)


def _without_dists(draft: Draft) -> Draft:
    branches = tuple(Branch(branch.at, branch.tokens) for branch in draft.branches)
    return Draft(draft.tokens, branches=branches, match=draft.match)


def _gone_on(
    draft: Draft, p: TreeTarget, sampler: Sampler, position: int, trunk: Verdict
) -> Verdict:
    """The target's own token after the trunk may be the first of a branch: then on with that."""
    own = trunk.tokens[-1]
    children = _of_trunk(draft, position, trunk.accepted)
    same = (c for c in children if c.branch is not None and c.token == own)
    taken = next(same, None)
    if taken is None:
        return trunk
    path = list(trunk.tokens[:-1])
    return _along(draft, p, sampler, position, path, taken, own)


def _along(
    draft: Draft,
    p: TreeTarget,
    sampler: Sampler,
    position: int,
    path: list[int],
    taken: _Child,
    own: int,
) -> Verdict:
    """From the trunk into a branch, and with it into those that begin with the same tokens."""
    assert taken.branch is not None, taken
    start = position + len(path)
    alive = [taken.branch]
    if taken.q is None:
        at_start = _of_trunk(draft, position, len(path))
        same = (c.branch for c in at_start if c.q is None and c.token == own)
        alive = [branch for branch in same if branch is not None]
    path.append(own)
    while True:
        j = position + len(path) - start
        children = [
            _Child(draft.branches[b].tokens[j], _q(draft.branches[b].dists, j), b)
            for b in alive
            if j < len(draft.branches[b].tokens)
        ]
        child, own = _judged(children, p.after(alive[0], j), sampler, position + len(path))
        if child is None:
            return _ended(path, own, children, alive[0])
        alive = [c.branch for c in children if c.token == own and c.branch is not None]
        path.append(own)


def _of_trunk(draft: Draft, position: int, i: int) -> list[_Child]:
    """Children of the trunk's node i: its own next token first."""
    children = []
    if i < len(draft.tokens):
        children.append(_Child(draft.tokens[i], _q(draft.dists, i), None))
    for b, branch in enumerate(draft.branches):
        if branch.at == position + i:
            children.append(_Child(branch.tokens[0], _q(branch.dists, 0), b))
    return children


def _q(dists: Sequence[Dist], i: int) -> Dist | None:
    return dists[i] if dists else None


def _judged(
    children: Sequence[_Child], p: Dist, sampler: Sampler, position: int
) -> tuple[_Child | None, int]:
    """The child that stands, if one does, and the token at `position`."""
    for child in children:
        if child.q is not None:
            # Strict, and without a division: a token of probability 0 falls even at u = 0.
            if sampler.uniform() * child.q.prob(child.token) < p.prob(child.token):
                return child, child.token
            p = residual(p, child.q)
    own = sampler.draw(p, position)
    same = (child for child in children if child.q is None and child.token == own)
    return next(same, None), own


def _ended(
    path: Sequence[int], own: int, children: Sequence[_Child], branch: int | None
) -> Verdict:
    kind = "recovered" if children else "bonus"
    return Verdict(len(path), (*path, own), kind, branch)  # type: ignore[arg-type]
