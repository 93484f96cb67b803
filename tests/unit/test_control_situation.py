import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgespec.control.situation import Length, Situation, best_length
from edgespec.costs import LiveCosts, PassCosts


def situation(relative: list[float], worth: float = 1.0, token_cost: float = 0.0) -> Situation:
    limit = len(relative) - 2
    return Situation(relative, worth, 1e9, limit, only=False, left=100.0, token_cost=token_cost)


def tried(at: Situation, first: float, then: float) -> Length:
    """By computing every length from its definition."""
    found = Length(0, 0.0, 1.0)
    for k in range(1, at.limit + 1):
        survivals = itertools.accumulate([first, *[then] * (k - 1)], lambda a, b: a * b)
        tokens = 1 + sum(survivals)
        cost = at.relative[k + 1] + (k - 1) * at.token_cost
        gain = tokens - 1 - at.worth * (cost - 1)
        if gain > found.gain + 1e-12:
            found = Length(k, gain, tokens)
    return found


@given(
    # A draft model's next 16 tokens are looked at.
    st.lists(st.floats(1.0, 30.0), min_size=1, max_size=16),
    st.floats(1.0, 4.0),
    st.floats(0.0, 0.5),
    # From 0.8 on, 16 tokens survive better than what is neglected.
    st.floats(0.8, 1.0),
    st.floats(0.8, 1.0),
)
def test_best_length_is_that_of_all_lengths_on_any_curve(
    passes: list[float], worth: float, token_cost: float, first: float, then: float
) -> None:
    at = situation([0.0, 1.0, *passes], worth, token_cost)

    found = best_length(at, at.limit, first, then)

    assert found.gain == pytest.approx(tried(at, first, then).gain, abs=1e-9)


def test_a_length_beyond_a_cliff_is_found() -> None:
    at = situation([0.0, 1.0, 1.9, 2.8, 3.7, 8.0, 4.5, 4.6, 4.7, 4.8, 4.9, 5.0])

    assert best_length(at, at.limit, 0.97, 0.97).k == 10


def test_nothing_is_drafted_where_a_row_costs_a_plain_step() -> None:
    at = situation([float(n) for n in range(12)])

    assert best_length(at, at.limit, 0.99, 0.99).k == 0


@given(
    st.lists(st.floats(1.0, 30.0), min_size=64, max_size=64),
    st.floats(1.0, 4.0),
    st.floats(0.0, 0.5),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
)
def test_looking_no_further_than_rows_can_pay_finds_the_same(
    passes: list[float], worth: float, token_cost: float, first: float, then: float
) -> None:
    rows = tuple(range(1, 66))
    costs = LiveCosts(PassCosts(rows, (1.0, *passes)))
    whole = situation(costs.relative, worth, token_cost)
    short = whole._replace(least_more=costs.least_more())

    assert best_length(short, 63, first, then) == best_length(whole, 63, first, then)
