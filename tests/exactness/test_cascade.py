"""A cascade in rationals: whatever is guessed, the draft is the draft model's and the text the
target's; and where a guess is kept as if it had been drawn, that shows."""

import itertools
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from edgespec.control import Fixed
from edgespec.core import Constraint, Dist, Draft, Row, Rule, Sampler, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.cascade import CascadeDrafter
from edgespec.drafters.guessed import Guessed, Tier
from edgespec.drafters.none import NoDrafter
from tests.exactness.exact_models import (
    Drafting,
    Model,
    Prefix,
    emitted_law,
    judge,
    random_model,
    target_law,
)
from tests.exactness.exact_tree import Coins, law_of
from tests.fakes import NumpyLM

PROMPT = np.array([0, 1], np.int32)


class Guess:
    """Guesses the same after every context: what comes after what is drafted is left of it."""

    name = "guess"

    def __init__(self, tokens: Prefix) -> None:
        self._tokens = tokens

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft(self._tokens[len(context) - len(PROMPT) :][:k])


class Shaped:
    """Coins with the draft model's law, whatever its rows are."""

    constraint: Constraint | None = None
    rule: Rule = "block"

    def __init__(self, coins: Coins, q: Model, passes: Guessed) -> None:
        self._coins, self._q, self._passes = coins, q, passes

    def dist(self, row: Row, history: Tokens, constraint: Constraint | None = None) -> Dist:
        return self._q(tuple(history[len(PROMPT) :].tolist()))

    def draw_draft(self, dist: Dist, position: int) -> int:
        return self._coins.draw_draft(dist, position)

    def draw(self, dist: Dist, position: int) -> int:
        raise AssertionError("a drafter draws from the target's stream")

    def uniform(self) -> float:
        raise AssertionError("a drafter tests its own draft")

    def commit(self, token: int) -> None:
        raise AssertionError("a drafter commits a token")


class Credulous(Shaped):
    """Keeps the guess, where it is possible, as if it had been drawn."""

    def draw_draft(self, dist: Dist, position: int) -> int:
        made = self._passes._pass
        assert made is not None
        guess = made.guesses[made.used - 1 :][:1]
        drawn = super().draw_draft(dist, position)
        return guess[0] if guess and guess[0] in dist.ids.tolist() else drawn


def cascade(n_vocab: int, guess: Prefix) -> CascadeDrafter:
    inputs = DrafterInputs(n_vocab, lambda token: False, NumpyLM(n_vocab))
    guesser = Guess(guess)

    def under() -> Tier:
        return Tier({"none": NoDrafter(inputs), "guess": guesser}, Fixed("guess", len(guess)))

    return CascadeDrafter(DrafterInputs(inputs.n_vocab, inputs.is_eog, inputs.session, under=under))


def drafting(
    q: Model, n_vocab: int, guess: Prefix, k: int, kind: type[Shaped] = Shaped
) -> Drafting:
    """Drafts of a cascade, each of a request of its own."""

    def draft(coins: Coins) -> Draft:
        drafter = cascade(n_vocab, guess)
        assert isinstance(drafter._passes, Guessed)
        return drafter.draft(PROMPT, k, kind(coins, q, drafter._passes))

    return draft


@pytest.mark.parametrize("rule", ["token", "block"])
@pytest.mark.parametrize(("n_vocab", "k"), [(2, 2), (2, 3), (3, 2)])
def test_every_guess_leaves_the_targets_joint_law(rule: Rule, n_vocab: int, k: int) -> None:
    p, q = random_model(n_vocab, seed=1), random_model(n_vocab, seed=2)
    expected = target_law(p, n_vocab, k + 1)

    for guess in itertools.product(range(n_vocab), repeat=k - 1):
        law = emitted_law(p, drafting(q, n_vocab, guess, k), judge(rule), n=k + 1)

        assert law == expected, guess


@pytest.mark.parametrize(("n_vocab", "k"), [(2, 3), (3, 2), (3, 3)])
def test_draft_at_the_inner_boundary_has_the_draft_models_law(n_vocab: int, k: int) -> None:
    q = random_model(n_vocab, seed=2)
    expected = target_law(q, n_vocab, k)

    for guess in itertools.product(range(n_vocab), repeat=k - 1):
        make = drafting(q, n_vocab, guess, k)

        assert law_of(partial(tokens_of, make)) == expected, guess


def tokens_of(make: Drafting, coins: Coins) -> Prefix:
    return make(coins).tokens


def test_recorded_law_of_every_token_is_the_one_it_was_drawn_from() -> None:
    q = random_model(3, seed=2)

    def is_right(coins: Coins) -> bool:
        draft = drafting(q, 3, (0, 1), 3)(coins)
        laws = [q(draft.tokens[:i]) for i in range(len(draft))]
        return all(a is b for a, b in zip(draft.dists, laws, strict=bool(draft.dists)))

    assert law_of(is_right) == {True: Fraction(1)}


@pytest.mark.parametrize("rule", ["token", "block"])
def test_guess_that_is_kept_as_if_it_was_drawn_is_seen(rule: Rule) -> None:
    p, q = random_model(3, seed=1), random_model(3, seed=2)
    wrong = drafting(q, 3, (0,), 2, Credulous)

    law = emitted_law(p, wrong, judge(rule), n=3)

    assert law != target_law(p, 3, 3)
