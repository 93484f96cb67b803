"""Every kind of tree leaves the target's law exactly, in rationals; wrong rules do not."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
import pytest

from edgespec.core import Branch, Dist, Draft, Rule, Sampler, Sampling, Verdict
from edgespec.sampling import RequestSampler
from edgespec.verify_tree import verify_tree
from tests.exactness.exact_models import Drafting, Model, Prefix, fixed, random_model, target_law
from tests.exactness.exact_tree import Coins, ExactDist, exact, law_of


class Along:
    """p along the paths of a tree."""

    def __init__(self, p: Callable[[Prefix], Dist], text: Prefix, draft: Draft) -> None:
        self._p, self._text, self._draft = p, text, draft

    def __call__(self, i: int) -> Dist:
        return self._p((*self._text, *self._draft.tokens[:i]))

    def after(self, branch: int, j: int) -> Dist:
        at, tokens = self._draft.branches[branch].at, self._draft.branches[branch].tokens
        trunk = self._draft.tokens[: at - len(self._text)]
        return self._p((*self._text, *trunk, *tokens[:j]))


class Judge(Protocol):
    """`verify_tree`, or a wrong one."""

    def __call__(
        self, draft: Draft, p: Along, sampler: Sampler, position: int, *, rule: Rule
    ) -> Verdict: ...


def tree_law(
    p: Model, drafting: Drafting, n: int, rule: Rule = "token", judge: Judge = verify_tree
) -> dict[Prefix, Fraction]:
    """The joint law of the first n tokens: one judged tree, then plain steps."""

    def run(coins: Coins) -> Prefix:
        text: Prefix = ()
        while len(text) < n:
            draft = drafting(coins) if not text else Draft()
            verdict = judge(draft, Along(p, text, draft), coins.sampler, len(text), rule=rule)
            text += verdict.tokens
        return text[:n]

    return law_of(run)


def without(q: ExactDist, *tokens: int) -> ExactDist | None:
    """q with some tokens ruled out, renormalised."""
    left = [Fraction(0) if x in tokens else q.prob(x) for x in range(4)]
    total = sum(left)
    return exact([share / total for share in left]) if total else None


TREES = [
    Draft((0, 1), branches=(Branch(0, (1,)), Branch(1, (0,)))),
    Draft((0,), branches=(Branch(0, (1, 0)), Branch(0, (1, 1)), Branch(1, (1, 1)))),
    Draft((), branches=(Branch(0, (1,)), Branch(0, (0, 1)))),
    Draft((1, 1), branches=(Branch(2, (0,)), Branch(2, (1, 0)), Branch(0, (0, 0)))),
    Draft((0,), branches=(Branch(0, (0, 1)), Branch(0, (0, 0)))),  # a branch that the trunk hides
]


@pytest.mark.parametrize("draft", TREES)
@pytest.mark.parametrize("n_vocab", [2, 3])
def test_deterministic_tree_leaves_the_targets_joint_law(draft: Draft, n_vocab: int) -> None:
    p = random_model(n_vocab, seed=11)

    law = tree_law(p, fixed(draft), n=4)

    assert law == target_law(p, n_vocab, 4)


def test_every_small_deterministic_tree_leaves_the_targets_joint_law() -> None:
    p = random_model(3, seed=12)
    expected = target_law(p, 3, 3)

    for trunk in itertools.product(range(3), repeat=2):
        for first, second in itertools.product(range(3), repeat=2):
            draft = Draft(trunk, branches=(Branch(0, (first, 0)), Branch(1, (second,))))

            assert tree_law(p, fixed(draft), n=3) == expected, draft


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [1, 2])
def test_siblings_sampled_without_replacement_leave_the_targets_joint_law(
    seed: int, depth: int
) -> None:
    p, q = random_model(3, 2 * seed), random_model(3, 2 * seed + 1)

    def drafting(coins: Coins) -> Draft:
        first = coins.draw_draft(q(()), 0)
        trunk, dists = (first,), (q(()),)
        branches: list[Branch] = []
        taken = [first]
        while (rest := without(q(()), *taken)) is not None and len(branches) < 2:
            tokens: Prefix = (coins.draw_draft(rest, 0),)
            laws: list[Dist] = [rest]
            for _ in range(depth - 1):
                laws.append(q(tokens))
                tokens += (coins.draw_draft(q(tokens), 0),)
            branches.append(Branch(0, tokens, tuple(laws)))
            taken.append(tokens[0])
        return Draft(trunk, dists, tuple(branches))

    assert tree_law(p, drafting, n=3) == target_law(p, 3, 3)


@pytest.mark.parametrize("rule", ["match", "token", "block"])
@pytest.mark.parametrize("seed", range(4))
def test_sampled_trunk_with_retrieved_branches_leaves_the_targets_joint_law(
    rule: Rule, seed: int
) -> None:
    p, q = random_model(3, 2 * seed), random_model(3, 2 * seed + 1)

    def drafting(coins: Coins) -> Draft:
        tokens: Prefix = ()
        for _ in range(2):
            tokens += (coins.draw_draft(q(tokens), 0),)
        dists = (q(()), q(tokens[:1]))
        return Draft(tokens, dists, (Branch(0, (2, 1)), Branch(1, (0,)), Branch(2, (1,))))

    assert tree_law(p, drafting, n=4, rule=rule) == target_law(p, 3, 4)


def test_chain_is_judged_as_a_tree_of_one_path() -> None:
    p = random_model(3, seed=21)

    law = tree_law(p, fixed(Draft((0, 1))), n=3)

    assert law == target_law(p, 3, 3)


@pytest.mark.parametrize("children", [(0,), (0, 1), (3, 1, 0)])
def test_deterministic_children_are_accepted_with_the_sum_of_their_probabilities(
    children: Sequence[int],
) -> None:
    p = random_model(4, seed=6)
    draft = Draft(tuple(children[:1]), branches=tuple(Branch(0, (x,)) for x in children[1:]))

    def run(coins: Coins) -> bool:
        return verify_tree(draft, Along(p, (), draft), coins.sampler, 0, rule="token").accepted > 0

    assert law_of(run).get(True, 0) == sum(p(()).prob(x) for x in children)


def independently(
    draft: Draft, p: Along, sampler: Sampler, position: int, *, rule: Rule
) -> Verdict:
    """A mistake: every row is sampled by itself, and the child that happens to agree stands."""
    if not draft.branches:
        return verify_tree(draft, p, sampler, position, rule=rule)
    for b in (None, *range(len(draft.branches))):
        token = draft.tokens[0] if b is None else draft.branches[b].tokens[0]
        own = sampler.draw(p(0), position)
        if own == token:
            after = p(1) if b is None else p.after(b, 1)
            return Verdict(1, (token, sampler.draw(after, position + 1)), "bonus", b)
    return Verdict(0, (own,), "recovered")


def test_rows_verified_independently_change_the_law() -> None:
    p = random_model(3, seed=11)
    draft = Draft((0,), branches=(Branch(0, (1,)),))

    law = tree_law(p, fixed(draft), n=2, judge=independently)

    assert law != target_law(p, 3, 2)


def test_replacement_that_is_not_told_changes_the_law() -> None:
    p, q = random_model(3, seed=2), random_model(3, seed=3)

    def drafting(coins: Coins) -> Draft:
        first = coins.draw_draft(q(()), 0)
        rest = without(q(()), first)
        if rest is None:
            return Draft((first,), (q(()),))
        second = coins.draw_draft(rest, 0)
        return Draft((first,), (q(()),), (Branch(0, (second,), (q(()),)),))  # not `rest`

    assert tree_law(p, drafting, n=2) != target_law(p, 3, 2)


def test_deterministic_tree_draws_what_plain_decoding_draws() -> None:
    rng = np.random.default_rng(3)
    rows: dict[Prefix, Dist] = {}

    def dist_after(text: Prefix) -> Dist:
        if text not in rows:
            weights = rng.random(5)
            rows[text] = Dist(np.arange(5, dtype=np.int32), weights / weights.sum())
        return rows[text]

    for seed in range(30):
        plain, treed = (RequestSampler(Sampling(1.0, seed=seed), 5) for _ in range(2))
        text: Prefix = ()
        while len(text) < 12:
            text += (plain.draw(dist_after(text), len(text)),)

        drafted: Prefix = ()
        while len(drafted) < 12:
            n = len(drafted)
            guess = tuple(int(x) for x in rng.integers(0, 5, 3))
            branches = (Branch(n, (guess[1], guess[2])), Branch(n + 1, (guess[0],)))
            draft = Draft(guess[:2], branches=branches)
            drafted += verify_tree(draft, Along(dist_after, drafted, draft), treed, n).tokens

        assert drafted[:12] == text
