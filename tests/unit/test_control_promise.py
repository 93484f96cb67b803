import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgespec.control.promise import Promises, lengths, priced
from edgespec.control.situation import Situation, best_length

CURVE = [0.0, 1.0, *(1 + 0.05 * n for n in range(1, 64))]
SHARES = (0.25, 0.75)


def situation(worth: float = 1.5) -> Situation:
    return Situation(CURVE, worth, 1e9, 62, only=False, left=100.0, token_cost=0.1)


def test_a_promise_is_the_mean_over_what_the_model_may_say() -> None:
    at, rates = situation(), (0.2, 0.9, 0.3, 0.95)

    found = priced(at, lengths(at, 62, rates, 2), rates, SHARES)

    each = [best_length(at, 62, rates[i], rates[2 + i]) for i in range(2)]
    tokens = sum(share * one.tokens for share, one in zip(SHARES, each, strict=True))
    gain = sum(share * one.gain for share, one in zip(SHARES, each, strict=True))
    assert found.tokens == pytest.approx(tokens)
    assert found.gain == pytest.approx(gain - at.worth * at.token_cost)
    assert found.gain == pytest.approx(found.tokens - 1 - at.worth * (found.cost - 1))


@given(
    st.lists(st.lists(st.floats(0.01, 0.98), min_size=4, max_size=4), min_size=1, max_size=9),
    st.floats(1.0, 4.0),
)
def test_lengths_of_a_while_ago_never_promise_more_than_the_best(
    changing: list[list[float]], worth: float
) -> None:
    promises = Promises(2)

    for rates in changing:
        kept = promises.lately(situation(worth), 16, rates, SHARES)
        best = promises.best(situation(worth), 16, rates, SHARES)
        assert kept.gain <= best.gain + 1e-9


def test_a_ledger_that_permits_less_is_heard_at_once() -> None:
    promises, at, sure = Promises(2), situation(), (0.9, 0.9, 0.95, 0.95)

    promises.lately(at, 62, sure, SHARES)

    assert promises.lately(at, 1, sure, SHARES).tokens == pytest.approx(1.9)


def test_another_worth_of_time_is_heard_at_once() -> None:
    promises, sure = Promises(2), (0.9, 0.9, 0.95, 0.95)
    before = promises.lately(situation(1.0), 62, sure, SHARES)

    after = promises.lately(situation(3.0), 62, sure, SHARES)

    assert after == promises.best(situation(3.0), 62, sure, SHARES)
    assert after.tokens < before.tokens


def test_what_is_never_right_promises_nothing() -> None:
    found = Promises(2).lately(situation(), 62, (0.0,) * 4, SHARES)

    assert found.gain == pytest.approx(-0.15)
    assert (found.tokens, found.cost) == (1.0, 1.1)
