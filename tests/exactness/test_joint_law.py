"""The joint law of three tokens through the whole chain, by chi-square on a fixed seed.

Floats, penalties and truncation included, which the enumeration leaves out. The seed is fixed, so
the tests are deterministic; with another seed each would fail once in 10,000.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest

from edgespec.core import Dist, Draft, Rule, Sampler, Sampling, Tokens
from edgespec.sampling import RequestSampler, shaped
from edgespec.verify import verify
from tests.exactness.chi_square import p_value, upper_tail
from tests.fakes import NumpyLM

N_VOCAB, N_RUNS, LIMIT = 5, 4_000, 1e-4
PARAMS = Sampling(0.9, top_k=4, top_p=0.97, presence_penalty=0.5, seed=2024)
TARGET = NumpyLM(N_VOCAB, seed=1, scale=1.2)
OTHER = NumpyLM(N_VOCAB, seed=2, scale=1.2)

Text = tuple[int, ...]


@cache
def p(text: Text) -> Dist:
    return _shaped(TARGET, text)


@cache
def q(text: Text) -> Dist:
    return _shaped(OTHER, text)


def _shaped(lm: NumpyLM, text: Text) -> Dist:
    history: Tokens = np.array((0, *text), np.int32)
    return shaped(lm.row(history), PARAMS, history)


@cache
def joint_law() -> dict[Text, float]:
    return {
        (a, b, c): p(()).prob(a) * p((a,)).prob(b) * p((a, b)).prob(c)
        for a in p(()).ids.tolist()
        for b in p((a,)).ids.tolist()
        for c in p((a, b)).ids.tolist()
    }


def sampled(text: Text, k: int, sampler: Sampler) -> Draft:
    tokens = text
    for _ in range(k):
        tokens += (sampler.draw_draft(q(tokens), len(tokens)),)
    return Draft(tokens[len(text) :], tuple(q(tokens[:i]) for i in range(len(text), len(tokens))))


def argmax(text: Text, k: int, sampler: Sampler) -> Draft:
    """What must not be done: the likeliest tokens, said to be drawn from q."""
    tokens = text
    for _ in range(k):
        tokens += (int(q(tokens).ids[q(tokens).probs.argmax()]),)
    return Draft(tokens[len(text) :], tuple(q(tokens[:i]) for i in range(len(text), len(tokens))))


def none(text: Text, k: int, sampler: Sampler) -> Draft:
    return Draft()


Drafting = Callable[[Text, int, Sampler], Draft]


def after(text: Text, ahead: Text, i: int) -> Dist:
    return p((*text, *ahead[:i]))


def histogram(drafting: Drafting, rule: Rule, *, stale: bool = False) -> Counter[Text]:
    sampler = RequestSampler(PARAMS, N_VOCAB)
    counts: Counter[Text] = Counter()
    for _ in range(N_RUNS):
        text: Text = ()
        while len(text) < 3:
            draft = drafting(text, 2 - len(text), sampler)
            ahead = () if stale else draft.tokens
            verdict = verify(draft, partial(after, text, ahead), sampler, len(text), rule=rule)
            text += verdict.tokens
        counts[text] += 1
    return counts


@pytest.mark.parametrize("rule", ["match", "token", "block"])
def test_joint_law_is_the_targets_with_sampled_drafts(rule: Rule) -> None:
    assert p_value(histogram(sampled, rule), joint_law()) > LIMIT


def test_joint_law_is_the_targets_without_drafts() -> None:
    assert p_value(histogram(none, "match"), joint_law()) > LIMIT


@pytest.mark.parametrize("rule", ["token", "block"])
def test_argmax_draft_treated_as_sampled_is_seen(rule: Rule) -> None:
    assert p_value(histogram(argmax, rule), joint_law()) < LIMIT


@pytest.mark.parametrize("rule", ["match", "token", "block"])
def test_rows_that_ignore_the_draft_are_seen(rule: Rule) -> None:
    assert p_value(histogram(sampled, rule, stale=True), joint_law()) < LIMIT


@pytest.mark.parametrize(
    ("x", "n_free", "tail"), [(3.841, 1, 0.05), (18.307, 10, 0.05), (149.449, 100, 0.001)]
)
def test_upper_tail_agrees_with_the_tables(x: float, n_free: int, tail: float) -> None:
    assert upper_tail(x, n_free) == pytest.approx(tail, rel=1e-3)
