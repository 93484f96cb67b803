"""Autoregressive laws in rationals, the drafts drawn from them, and the joint law to compare."""

import itertools
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from edgespec.core import Draft, Rule, Verdict
from edgespec.verify import verify
from tests.exactness.exact_tree import Coins, ExactDist, exact, law_of

Prefix = tuple[int, ...]
Model = Callable[[Prefix], ExactDist]
Drafting = Callable[[Coins], Draft]
Rows = Callable[[int], ExactDist]
Judging = Callable[[Draft, Rows, Coins], Verdict]


def random_model(n_vocab: int, seed: int) -> Model:
    """A distribution for every prefix; about a fifth of the probabilities are 0."""

    @cache
    def law(prefix: Prefix) -> ExactDist:
        rng = random.Random(f"{seed}{prefix}")
        weights = [rng.choice([0, 1, 2, 3, 7]) for _ in range(n_vocab)]
        weights[rng.randrange(n_vocab)] += 1
        return exact([Fraction(weight, sum(weights)) for weight in weights])

    return law


def sampled(q: Model, k: int) -> Drafting:
    """Drafts of k tokens, each drawn from q."""

    def draft(coins: Coins) -> Draft:
        tokens: Prefix = ()
        for _ in range(k):
            tokens += (coins.draw_draft(q(tokens), 0),)
        return Draft(tokens, tuple(q(tokens[:i]) for i in range(k)))

    return draft


def judge(rule: Rule) -> Judging:
    """The rule as it is."""
    return lambda draft, p, coins: verify(draft, p, coins.sampler, 0, rule=rule)


def fixed(draft: Draft) -> Drafting:
    """The same draft every time."""
    return lambda coins: draft


def rows_of(p: Model, text: Prefix, draft: Draft) -> Rows:
    """p after `text` and the first tokens of the draft."""
    return lambda i: p((*text, *draft.tokens[:i]))


def emitted_law(p: Model, drafting: Drafting, judging: Judging, n: int) -> dict[Prefix, Fraction]:
    """The joint law of the first n tokens: one judged draft, then steps of the same kind."""

    def run(coins: Coins) -> Prefix:
        text: Prefix = ()
        while len(text) < n:
            draft = drafting(coins) if not text else Draft()
            verdict = judging(draft, rows_of(p, text, draft), coins)
            text += verdict.tokens
        return text[:n]

    return law_of(run)


def target_law(p: Model, n_vocab: int, n: int) -> dict[Prefix, Fraction]:
    """The joint law of n tokens drawn one by one; impossible texts left out."""
    law = {}
    for text in itertools.product(range(n_vocab), repeat=n):
        chance = Fraction(1)
        for i, token in enumerate(text):
            chance *= p(text[:i]).prob(token)
        if chance:
            law[text] = chance
    return law


def accepted_law(p: Model, drafting: Drafting, judging: Judging) -> dict[int, Fraction]:
    """How many draft tokens are accepted."""

    def run(coins: Coins) -> int:
        draft = drafting(coins)
        return judging(draft, rows_of(p, (), draft), coins).accepted

    return law_of(run)
