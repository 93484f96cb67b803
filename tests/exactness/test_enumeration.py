"""Every rule gives the target's law exactly: all outcomes of the production code, in rationals."""

import itertools
from fractions import Fraction
from functools import partial

import pytest

from edgespec.core import Draft, Rule
from tests.exactness.exact_models import (
    accepted_law,
    emitted_law,
    fixed,
    judge,
    random_model,
    sampled,
    target_law,
)
from tests.exactness.exact_tree import Coins, exact

SIZES = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (4, 3)]
RULES: list[Rule] = ["match", "token", "block"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("n_vocab", "k"), SIZES)
def test_sampled_drafts_leave_the_targets_joint_law(rule: Rule, n_vocab: int, k: int) -> None:
    n_models = 4 if n_vocab**k < 10 else 1
    for seed in range(n_models):
        p, q = random_model(n_vocab, 2 * seed), random_model(n_vocab, 2 * seed + 1)

        law = emitted_law(p, sampled(q, k), judge(rule), n=k + 1)

        assert law == target_law(p, n_vocab, k + 1)


@pytest.mark.parametrize(("n_vocab", "k"), [(2, 3), (3, 2), (4, 2)])
def test_every_deterministic_draft_leaves_the_targets_joint_law(n_vocab: int, k: int) -> None:
    p = random_model(n_vocab, seed=3)
    expected = target_law(p, n_vocab, k + 1)

    for tokens in itertools.product(range(n_vocab), repeat=k):
        law = emitted_law(p, fixed(Draft(tokens)), judge("block"), n=k + 1)

        assert law == expected, tokens


@pytest.mark.parametrize("rule", RULES)
def test_draft_length_may_depend_on_the_shape_of_q(rule: Rule) -> None:
    """Stopping before a token is drawn is free; the choice may look at q, never at the token."""
    p, q = random_model(3, seed=4), random_model(3, seed=5)

    def confident(coins: Coins) -> Draft:
        tokens: tuple[int, ...] = ()
        while len(tokens) < 2 and max(q(tokens).probs) >= Fraction(1, 2):
            tokens += (coins.draw_draft(q(tokens), 0),)
        return Draft(tokens, tuple(q(tokens[:i]) for i in range(len(tokens))))

    assert emitted_law(p, confident, judge(rule), n=3) == target_law(p, 3, 3)


@pytest.mark.parametrize("rule", ["token", "block"])
@pytest.mark.parametrize("seed", range(8))
def test_first_token_is_accepted_with_the_sum_of_minima(rule: Rule, seed: int) -> None:
    p, q = random_model(4, 2 * seed), random_model(4, 2 * seed + 1)

    law = accepted_law(p, sampled(q, 1), judge(rule))

    assert law.get(1, 0) == sum(min(p(()).prob(x), q(()).prob(x)) for x in range(4))


@pytest.mark.parametrize("token", range(4))
def test_deterministic_token_is_accepted_with_its_probability(token: int) -> None:
    p = random_model(4, seed=6)

    law = accepted_law(p, fixed(Draft((token,))), judge("block"))

    assert law.get(1, 0) == p(()).prob(token)


@pytest.mark.parametrize(("n_vocab", "k"), [(2, 2), (2, 3), (3, 2), (4, 2)])
def test_block_never_accepts_less_than_token_by_token(n_vocab: int, k: int) -> None:
    gains = []
    for seed in range(6):
        p, q = random_model(n_vocab, 2 * seed), random_model(n_vocab, 2 * seed + 1)
        law = partial(accepted_law, p, sampled(q, k))
        by_block, by_token = (mean(law(judge(rule))) for rule in ("block", "token"))
        gains.append(by_block - by_token)

    assert min(gains) >= 0
    assert max(gains) > 0


def mean(law: dict[int, Fraction]) -> Fraction:
    return sum((n * chance for n, chance in law.items()), Fraction(0))


def test_fork_of_a_uniform_number_is_exact() -> None:
    p, q = exact([Fraction(1, 3), Fraction(2, 3)]), exact([Fraction(1, 2), Fraction(1, 2)])

    law = accepted_law(lambda prefix: p, sampled(lambda prefix: q, 1), judge("token"))

    assert law == {0: Fraction(1, 6), 1: Fraction(5, 6)}
