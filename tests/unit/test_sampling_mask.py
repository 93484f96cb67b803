"""A grammar asked lazily gives the law of masking first, and is asked about few tokens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.core import Mask, Row, Sampling, Tokens
from edgespec.errors import EngineError
from edgespec.sampling import shaped
from tests.fakes import tokens_of

N = 3_000
FIXED = settings(derandomize=True, deadline=None, max_examples=100)
NO_HISTORY = tokens_of()


class Only:
    """A grammar that allows a fixed set of tokens and counts what it is asked."""

    def __init__(self, *tokens: int) -> None:
        self._tokens = tokens
        self.asked: list[int] = []

    def allowed(self, ids: Tokens) -> Mask:
        self.asked += ids.tolist()
        return np.isin(ids, self._tokens)

    def advanced(self, token: int) -> "Only":
        return self


def random_row(seed: int) -> Row:
    return (3 * np.random.default_rng(seed).normal(size=N)).round(2).astype(np.float32)


def falling_row() -> Row:
    """Token i is the i-th best."""
    return np.linspace(30, -30, N, dtype=np.float32)


chains = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.7, 1.0]),
    top_k=st.sampled_from([0, 1, 5, 40, 2_999, 5_000]),
    top_p=st.sampled_from([1.0, 0.9]),
    min_p=st.sampled_from([0.0, 0.05, 0.5]),
    typical_p=st.sampled_from([1.0, 0.9]),
    presence_penalty=st.sampled_from([0.0, 3.0]),
)


@FIXED
@given(chains, st.sampled_from([1, 3, 100, 2_900]), st.integers(0, 2**32 - 1))
def test_lazy_mask_equals_masking_first(params: Sampling, n_allowed: int, seed: int) -> None:
    row = random_row(seed)
    allowed = np.random.default_rng(seed).choice(N, n_allowed, replace=False)
    history = np.array([int(row.argmax())], np.int32)
    masked = np.full(N, -np.inf, np.float32)
    masked[allowed] = row[allowed]

    dist = shaped(row, params, history, Only(*allowed.tolist()))

    expected = shaped(masked, params, history)
    assert dist.ids.tolist() == expected.ids.tolist()
    np.testing.assert_allclose(dist.probs, expected.probs, rtol=1e-12)


def test_greedy_asks_about_the_best_token_alone_when_it_is_allowed() -> None:
    grammar = Only(0)

    shaped(falling_row(), Sampling(), NO_HISTORY, grammar)

    assert grammar.asked == [0]


def test_greedy_asks_in_growing_batches_and_never_twice() -> None:
    grammar = Only(50)

    dist = shaped(falling_row(), Sampling(), NO_HISTORY, grammar)

    assert dist.ids.tolist() == [50]
    assert grammar.asked == list(range(1 + 8 + 64))


def test_top_k_asks_about_k_tokens_when_they_are_allowed() -> None:
    grammar = Only(*range(N))

    shaped(falling_row(), Sampling(1, top_k=40), NO_HISTORY, grammar)

    assert grammar.asked == list(range(40))


def test_min_p_asks_only_above_its_floor() -> None:
    grammar = Only(*range(2, N))

    dist = shaped(falling_row(), Sampling(1, min_p=0.5), NO_HISTORY, grammar)

    assert dist.ids[0] == 2
    assert max(grammar.asked) < 2 + 35


def test_plain_temperature_asks_about_everything_once() -> None:
    grammar = Only(7, 8)

    dist = shaped(falling_row(), Sampling(1), NO_HISTORY, grammar)

    assert dist.ids.tolist() == [7, 8]
    assert grammar.asked == list(range(N))


@pytest.mark.parametrize(
    "params",
    [Sampling(), Sampling(1), Sampling(1, top_k=4), Sampling(1, min_p=0.1)],
    ids=["greedy", "plain", "top-k", "min-p"],
)
def test_nothing_allowed_is_an_error_a_person_can_mend(params: Sampling) -> None:
    with pytest.raises(EngineError, match="the grammar allows no token"):
        shaped(falling_row(), params, NO_HISTORY, Only())


def test_ban_wins_over_the_grammar() -> None:
    params = Sampling(logit_bias=((3, -np.inf),))

    with pytest.raises(EngineError, match="the grammar allows no token"):
        shaped(falling_row(), params, NO_HISTORY, Only(3))
