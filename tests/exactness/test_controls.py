"""Known wrong rules must fail the very checks that the right ones pass: the checks can see."""

from fractions import Fraction

import pytest

from edgespec.core import Draft, Rule, Verdict
from edgespec.verify import residual, verify
from tests.exactness.exact_models import (
    Model,
    Rows,
    emitted_law,
    fixed,
    judge,
    random_model,
    sampled,
    target_law,
)
from tests.exactness.exact_tree import Coins, ExactDist, exact

HALF = Fraction(1, 2)


def always(dist: ExactDist) -> Model:
    """The same distribution after every prefix."""
    return lambda prefix: dist


@pytest.mark.parametrize("rule", ["token", "block"])
def test_argmax_draft_treated_as_sampled_is_seen(rule: Rule) -> None:
    p, q = random_model(3, seed=7), random_model(3, seed=8)

    def argmax(coins: Coins) -> Draft:
        return Draft((int(q(()).ids[q(()).probs.argmax()]),), (q(()),))

    assert emitted_law(p, argmax, judge(rule), n=2) != target_law(p, 3, 2)


def test_rows_verified_independently_are_seen() -> None:
    """One draw answers whether the draft is right, another one is emitted."""
    p = always(exact([HALF, HALF]))

    def independent(draft: Draft, p: Rows, coins: Coins) -> Verdict:
        n = 0
        while n < len(draft) and coins.draw(p(n), n) == draft.tokens[n]:
            n += 1
        own = coins.draw(p(n), n)
        return Verdict(n, (*draft.tokens[:n], own), "recovered")

    law = emitted_law(p, fixed(Draft((0,))), independent, n=1)

    assert law == {(0,): Fraction(3, 4), (1,): Fraction(1, 4)}
    assert law != target_law(p, 2, 1)


@pytest.mark.parametrize("rule", ["token", "block"])
def test_dropping_a_sampled_token_by_its_value_is_seen(rule: Rule) -> None:
    p, q = always(exact([HALF, HALF])), exact([Fraction(4, 5), Fraction(1, 5)])

    def picky(coins: Coins) -> Draft:
        token = coins.draw_draft(q, 0)
        return Draft((token,), (q,)) if token == 0 else Draft()

    law = emitted_law(p, picky, judge(rule), n=1)

    assert law == {(0,): Fraction(3, 5), (1,): Fraction(2, 5)}


def test_matching_survives_dropping_a_sampled_token_by_its_value() -> None:
    """Only a guess is dropped: sample-and-match does not care where drafts come from."""
    p, q = always(exact([HALF, HALF])), exact([Fraction(4, 5), Fraction(1, 5)])

    def picky(coins: Coins) -> Draft:
        token = coins.draw_draft(q, 0)
        return Draft((token,)) if token == 0 else Draft()

    assert emitted_law(p, picky, judge("match"), n=1) == target_law(p, 2, 1)


@pytest.mark.parametrize("rule", ["match", "token", "block"])
def test_rows_that_ignore_the_draft_are_seen(rule: Rule) -> None:
    """What stale penalties amount to: the law after the first token misses that token."""
    p, q = random_model(3, seed=7), random_model(3, seed=8)

    def stale(draft: Draft, rows: Rows, coins: Coins) -> Verdict:
        return verify(draft, lambda i: rows(0), coins.sampler, 0, rule=rule)

    assert emitted_law(p, sampled(q, 1), stale, n=2) != target_law(p, 3, 2)


def test_forgotten_residual_is_seen() -> None:
    """After a refusal, p itself is not the right law: it counts what was accepted twice."""
    p, q = always(exact([HALF, HALF])), always(exact([Fraction(4, 5), Fraction(1, 5)]))

    def forgetful(draft: Draft, rows: Rows, coins: Coins) -> Verdict:
        x, u = draft.tokens[0], coins.uniform()
        if u * q(()).prob(x) < rows(0).prob(x):
            return Verdict(1, (x, coins.draw(rows(1), 1)), "bonus")
        return Verdict(0, (coins.draw(rows(0), 0),), "recovered")

    law = emitted_law(p, sampled(q, 1), forgetful, n=1)

    assert law == {(0,): Fraction(13, 20), (1,): Fraction(7, 20)}


def test_accepting_at_equality_emits_an_impossible_token() -> None:
    p, q = exact([0, 1]), exact([HALF, HALF])
    u, token = 0, 0

    strict = u * q.prob(token) < p.prob(token)
    loose = u * q.prob(token) <= p.prob(token)

    assert (strict, loose) == (False, True)
    assert residual(p, q).prob(token) == 0
