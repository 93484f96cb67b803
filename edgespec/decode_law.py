"""The target's law along a draft, and what of a draft a grammar leaves.

Owns which row, history and grammar state belong to which node; knows no loop and no verdicts.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgespec.core import Constraint, Dist, Draft, Logits, Row, Sampler, Tokens


class TargetLaw:
    """p(i): the target's shaped distribution after the first i draft tokens, when asked for;
    `after` is the same along a branch."""

    def __init__(
        self, logits: Logits, draft: Draft, tokens: Tokens, n: int, sampler: Sampler
    ) -> None:
        self._logits = logits
        self._draft = draft
        self._tokens = tokens
        self._n = n
        self._sampler = sampler
        self._constraints: list[Constraint | None] = [sampler.constraint]

    def __call__(self, i: int) -> Dist:
        """p after the trunk's first i tokens."""
        history = self._tokens[: self._n + i]
        return self._sampler.dist(self._logits[i], history, self._constraint(i))

    def after(self, branch: int, j: int) -> Dist:
        """p after the branch's first j tokens, j ≥ 1."""
        taken = self._draft.branches[branch]
        tokens = taken.tokens[:j]
        history = np.concatenate((self._tokens[: taken.at], np.array(tokens, np.int32)))
        constraint = self._constraint(taken.at - self._n)
        for token in tokens:
            constraint = None if constraint is None else constraint.advanced(token)
        return self._sampler.dist(self._logits.branch(branch)[j - 1], history, constraint)

    def rows(self, branch: int | None) -> Sequence[Row]:
        """The rows that decide the tokens on the way through a branch."""
        if branch is None:
            return [self._logits[i] for i in range(len(self._logits))]
        trunk = self._draft.branches[branch].at - self._n
        return [*(self._logits[i] for i in range(trunk + 1)), *self._logits.branch(branch)]

    def _constraint(self, i: int) -> Constraint | None:
        while len(self._constraints) <= i:
            last = self._constraints[-1]
            token = int(self._tokens[self._n + len(self._constraints) - 1])
            self._constraints.append(None if last is None else last.advanced(token))
        return self._constraints[i]


def legal(draft: Draft, constraint: Constraint | None, n: int) -> Draft:
    """Cut what is deterministic before the first token that the grammar forbids.

    A sampled draft is left alone: its drafter masked it by the same grammar, and dropping a drawn
    token would change the output's law.
    """
    if constraint is None or draft.dists or any(branch.dists for branch in draft.branches):
        return draft
    trunk = _allowed(draft.tokens, constraint)
    branches = []
    for branch in draft.branches:
        before = draft.tokens[: branch.at - n]
        kept = _allowed((*before, *branch.tokens), constraint)[len(before) :]
        if len(before) <= len(trunk) and kept:
            branches.append(replace(branch, tokens=kept))
    return replace(draft, tokens=trunk, branches=tuple(branches))


def _allowed(tokens: tuple[int, ...], constraint: Constraint) -> tuple[int, ...]:
    for i, token in enumerate(tokens):
        if not constraint.allowed(np.array([token], np.int32))[0]:
            return tokens[:i]
        if i + 1 < len(tokens):
            constraint = constraint.advanced(token)
    return tokens
