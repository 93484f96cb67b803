"""The fast chain against the slow one, option by option and all together."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.core import Dist, Row, Sampling
from edgespec.errors import EngineError
from edgespec.sampling import shaped
from tests.fakes import tokens_of
from tests.unit.reference_chain import reference

FIXED = settings(derandomize=True, deadline=None, max_examples=150)
NO_HISTORY = tokens_of()


def row_of(*logits: float) -> Row:
    return np.array(logits, np.float32)


def as_dict(dist: Dist) -> dict[int, float]:
    return dict(zip(dist.ids.tolist(), dist.probs.tolist(), strict=True))


def assert_same_law(dist: Dist, row: Row, params: Sampling, history: list[int]) -> None:
    """Equal supports and probabilities, where a sum may round to either side of its threshold."""
    found = as_dict(dist)
    supports = []
    for nudge in (0, 1e-6, -1e-6):
        nudged = dataclasses.replace(
            params,
            top_p=min(1, params.top_p * (1 + nudge)) if params.top_p < 1 else 1.0,
            typical_p=params.typical_p * (1 + nudge) if params.typical_p < 1 else 1.0,
        )
        expected = reference(row, nudged, history)
        supports.append(expected.keys())
        if found.keys() == expected.keys():
            # Above 4,096 candidates the exponentials are float32.
            rtol = 1e-12 if len(row) <= 4096 else 1e-5
            np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=rtol)
            return
    raise AssertionError((found.keys(), supports))


finite = st.floats(-30, 30, width=32)
logit = st.one_of(finite, st.sampled_from([0.0, 1.0, 2.0, 2.5]), st.just(-math.inf))
small_rows = st.lists(logit, min_size=1, max_size=12).filter(lambda x: max(x) > -math.inf)
p_values = st.one_of(st.just(1.0), st.floats(0.01, 0.999), st.sampled_from([0.25, 0.5, 0.75]))
settings_of_chain = st.builds(
    Sampling,
    temperature=st.one_of(st.just(1.0), st.floats(0.05, 5)),
    top_k=st.integers(0, 14),
    top_p=p_values,
    min_p=st.one_of(st.just(0.0), st.floats(0.001, 0.9)),
    typical_p=st.one_of(st.just(1.0), st.floats(0.01, 0.999)),
    repeat_penalty=st.sampled_from([1.0, 1.3, 0.8]),
    frequency_penalty=st.sampled_from([0.0, 0.5, -0.25]),
    presence_penalty=st.sampled_from([0.0, 0.7, -0.7]),
    repeat_last_n=st.integers(-1, 6),
)


@FIXED
@given(small_rows, settings_of_chain, st.lists(st.integers(0, 11), max_size=10))
def test_chain_equals_the_reference_on_small_rows(
    logits: list[float], params: Sampling, history: list[int]
) -> None:
    row = row_of(*logits)
    history = [token % len(row) for token in history]

    dist = shaped(row, params, tokens_of(*history))

    assert_same_law(dist, row, params, history)


@FIXED
@given(
    st.sampled_from([300, 2_500, 6_000]),
    st.sampled_from([0.3, 1.0, 4.0]),
    st.sampled_from([0, 1, 7]),
    st.sampled_from([0, 9, 20]),
    st.integers(0, 2**32 - 1),
    settings_of_chain,
)
def test_chain_equals_the_reference_on_long_rows(
    n: int, scale: float, decimals: int, lead: int, seed: int, params: Sampling
) -> None:
    rng = np.random.default_rng(seed)
    row = (scale * rng.normal(size=n)).round(decimals).astype(np.float32)
    row[rng.choice(n, 5)] += lead
    row[rng.random(n) < 0.1] = -np.inf
    params = dataclasses.replace(params, top_k=params.top_k * 50)
    history = rng.integers(0, n, 8).tolist()

    dist = shaped(row, params, np.array(history, np.int32))

    assert_same_law(dist, row, params, history)


@FIXED
@given(small_rows, settings_of_chain, st.lists(st.integers(0, 11), max_size=10))
def test_distribution_is_ascending_positive_and_sums_to_one(
    logits: list[float], params: Sampling, history: list[int]
) -> None:
    dist = shaped(row_of(*logits), params, tokens_of(*(t % len(logits) for t in history)))

    assert (np.diff(dist.ids) > 0).all()
    assert (dist.probs > 0).all()
    assert math.isclose(dist.probs.sum(), 1, abs_tol=1e-12)
    assert dist.ids.dtype == np.int32
    assert dist.probs.dtype == np.float64


@FIXED
@given(small_rows, settings_of_chain)
def test_temperature_zero_is_the_argmax_whatever_else_is_set(
    logits: list[float], params: Sampling
) -> None:
    row = row_of(*logits)
    params = dataclasses.replace(params, temperature=0.0)

    dist = shaped(row, params, NO_HISTORY)

    assert as_dict(dist) == {int(row.argmax()): 1.0}


def test_temperature_zero_takes_the_lowest_id_of_equals() -> None:
    assert shaped(row_of(1, 3, 3), Sampling(), NO_HISTORY).ids.tolist() == [1]


def test_top_k_zero_is_off() -> None:
    dist = shaped(row_of(1, 2, 3), Sampling(1, top_k=0), NO_HISTORY)

    assert dist.ids.tolist() == [0, 1, 2]


def test_truncation_happens_before_temperature() -> None:
    row = np.log(np.array([0.6, 0.3, 0.1], np.float32))

    cold = shaped(row, Sampling(0.1, top_p=0.8), NO_HISTORY)
    hot = shaped(row, Sampling(10, top_p=0.8), NO_HISTORY)

    assert cold.ids.tolist() == hot.ids.tolist() == [0, 1]


def test_top_p_keeps_what_reaches_p_and_typical_p_what_exceeds_it() -> None:
    row = row_of(1, 1, 1, 1)

    assert shaped(row, Sampling(1, top_p=0.5), NO_HISTORY).ids.tolist() == [0, 1]
    assert shaped(row, Sampling(1, typical_p=0.5), NO_HISTORY).ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize("min_p", [0, 1e-4])
def test_top_p_looks_beyond_the_tokens_near_the_best(min_p: float) -> None:
    """One token leads by 9, yet the thousands behind it hold two fifths of the mass."""
    row = np.zeros(6_000, np.float32)
    row[1_000] = 9
    tail = 5_999 / (5_999 + np.exp(9))

    dist = shaped(row, Sampling(1, top_p=1 - tail / 2, min_p=min_p), NO_HISTORY)

    assert len(dist.ids) == 1 + 3_000
    assert dist.ids.tolist()[-1] == 3_000


@pytest.mark.parametrize(
    "params", [Sampling(1, typical_p=0.3), Sampling(1, top_p=0.3), Sampling(1, min_p=0.3)]
)
def test_few_that_are_left_of_many_have_exact_probabilities(params: Sampling) -> None:
    row = np.random.default_rng(0).normal(size=6_000).astype(np.float32)

    dist = shaped(row, params, NO_HISTORY)

    weights = np.exp(row[dist.ids].astype(np.float64))
    np.testing.assert_allclose(dist.probs, weights / weights.sum(), rtol=1e-12)


def test_repeat_penalty_divides_positive_and_multiplies_negative_logits() -> None:
    params = Sampling(1, repeat_penalty=2)

    dist = shaped(row_of(2, -2, 0), params, tokens_of(0, 1))

    weights = np.exp([1, -4, 0])
    np.testing.assert_allclose(dist.probs, weights / weights.sum())


def test_frequency_counts_and_presence_does_not() -> None:
    params = Sampling(1, frequency_penalty=0.5, presence_penalty=0.25)

    dist = shaped(row_of(0, 0), params, tokens_of(0, 0, 0))

    weights = np.exp([-1.75, 0])
    np.testing.assert_allclose(dist.probs, weights / weights.sum())


@pytest.mark.parametrize(("last_n", "winner"), [(-1, 1), (0, 0), (1, 0), (2, 1)])
def test_penalties_look_at_the_last_n_tokens(last_n: int, winner: int) -> None:
    params = Sampling(presence_penalty=5, repeat_last_n=last_n)

    dist = shaped(row_of(1, 0, -9), params, tokens_of(0, 2))

    assert dist.ids.tolist() == [winner]


def test_penalties_over_a_long_history_equal_the_reference() -> None:
    rng = np.random.default_rng(0)
    row = rng.normal(size=300).astype(np.float32)
    history = [*rng.integers(0, 280, 5_000).tolist(), *range(280, 290)]
    params = Sampling(
        1, repeat_penalty=1.2, frequency_penalty=0.1, presence_penalty=-0.3, repeat_last_n=-1
    )

    dist = shaped(row, params, tokens_of(*history, 300))

    assert_same_law(dist, row, params, history)


def test_penalties_ignore_tokens_beyond_a_narrower_row() -> None:
    params = Sampling(presence_penalty=5)

    assert shaped(row_of(1, 0), params, tokens_of(7, 0)).ids.tolist() == [1]


@pytest.mark.parametrize("bias", [-100.0, -math.inf, -1e30])
def test_bias_bans_a_token(bias: float) -> None:
    dist = shaped(row_of(9, 1, 0), Sampling(1, logit_bias=((0, bias),)), NO_HISTORY)

    assert dist.prob(0) < 1e-30
    assert dist.prob(1) > 0.7


@pytest.mark.parametrize("bias", [100.0, math.inf, 1e30])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_bias_makes_a_token_certain(bias: float, temperature: float) -> None:
    params = Sampling(temperature, logit_bias=((2, bias),), typical_p=0.9, top_p=0.9)

    assert shaped(row_of(9, 1, 0), params, NO_HISTORY).prob(2) > 1 - 1e-12


@pytest.mark.parametrize("n_vocab", [3, 6_000])
@pytest.mark.parametrize(
    "params",
    [Sampling(1, top_p=0.9, typical_p=0.9), Sampling(1, top_p=0.9, min_p=0.1)],
    ids=["typical", "min-p"],
)
def test_biases_at_the_ends_of_the_float_range_mean_what_they_say(
    n_vocab: int, params: Sampling
) -> None:
    params = dataclasses.replace(params, logit_bias=((0, -3e38), (2, 3e38)))

    assert as_dict(shaped(np.zeros(n_vocab, np.float32), params, NO_HISTORY)) == {2: 1.0}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(
    ("logits", "bias"),
    [
        ((9, 1, 0), ((2, -math.inf), (2, math.inf))),
        ((9, 1, 0), ((2, math.inf), (2, -math.inf))),
        ((9, 1, -math.inf), ((2, math.inf),)),
        ((9, 1, -math.inf), ((2, 3e38), (2, 3e38))),
    ],
)
def test_no_bias_makes_the_impossible_possible(
    logits: tuple[float, ...], bias: tuple[tuple[int, float], ...], temperature: float
) -> None:
    """A token that is banned, or that a draft model of another vocabulary cannot say."""
    params = Sampling(temperature, logit_bias=bias, typical_p=0.9, top_p=0.9)

    assert as_dict(shaped(row_of(*logits), params, NO_HISTORY)) == {0: 1.0}


def test_two_infinite_biases_share_the_mass() -> None:
    params = Sampling(1, logit_bias=((0, math.inf), (2, math.inf)))

    assert as_dict(shaped(row_of(9, 1, 0), params, NO_HISTORY)) == {0: 0.5, 2: 0.5}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_banning_every_token_is_an_error_a_person_can_mend(temperature: float) -> None:
    params = Sampling(temperature, logit_bias=((0, -math.inf), (1, -math.inf)))

    with pytest.raises(EngineError, match="bans every token"):
        shaped(row_of(1, 2), params, NO_HISTORY)


@pytest.mark.parametrize("logits", [(math.nan, 1.0), (1.0, math.nan), (-math.inf,) * 2])
@pytest.mark.parametrize("params", [Sampling(), Sampling(1), Sampling(logit_bias=((0, 1.0),))])
def test_row_without_a_best_logit_is_our_fault(logits: Sequence[float], params: Sampling) -> None:
    with pytest.raises(AssertionError, match="row of 2 logits"):
        shaped(row_of(*logits), params, NO_HISTORY)


def test_row_is_not_written_to() -> None:
    row = row_of(1, 2, 3)
    row.flags.writeable = False

    shaped(row, Sampling(1, repeat_penalty=1.5, logit_bias=((0, 3.0),)), tokens_of(1, 2))

    assert row.tolist() == [1, 2, 3]


@pytest.mark.parametrize("temperature", [5e-324, 1e-30, 1e-6])
def test_tiny_temperature_is_nearly_greedy(temperature: float) -> None:
    dist = shaped(row_of(1, 2, 1.999), Sampling(temperature), NO_HISTORY)

    assert as_dict(dist) == {1: 1.0}


def test_distributions_over_the_whole_vocabulary_share_their_ids() -> None:
    rows = np.random.default_rng(0).normal(size=(2, 5_000)).astype(np.float32)

    p, q = (shaped(row, Sampling(1), NO_HISTORY) for row in rows)

    assert p.ids is q.ids
