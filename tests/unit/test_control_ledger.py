import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgespec.control.ledger import SHARE, Ledger

FLAT = [1 + n / 64 for n in range(66)]
STEPS = st.lists(st.tuples(st.floats(0.5, 60), st.integers(1, 64), st.floats(0.5, 1.15)))


@given(STEPS, st.sampled_from([None, 10, 500]))
def test_permitted_steps_keep_the_promise_at_every_prefix(
    steps: list[tuple[float, int, float]], max_tokens: int | None
) -> None:
    """Steps of any foreseen cost, which take up to the margin more than was foreseen."""
    ledger = Ledger(FLAT, max_tokens)
    took, n_tokens = 0.0, 0

    for foreseen, tokens, error in steps:
        cost = foreseen * error if ledger.permits(foreseen) else 1.0
        tokens = tokens if ledger.permits(foreseen) else 1
        ledger.add(cost, tokens)
        took, n_tokens = took + cost, n_tokens + tokens

        assert took <= (1 + SHARE) * n_tokens + ledger.head_start + 1e-9


@given(STEPS)
def test_a_good_start_does_not_pay_for_a_long_slump(
    steps: list[tuple[float, int, float]],
) -> None:
    ledger = Ledger(FLAT)
    for _ in range(1000):
        ledger.add(1.0, 64)
    lost = 0.0

    for foreseen, _, error in steps:
        cost = foreseen * error if ledger.permits(foreseen) else 1.0
        ledger.add(cost, 1)
        lost += cost - (1 + SHARE)

        assert lost <= 32 + ledger.head_start + 1e-9


def test_a_plain_step_is_always_permitted() -> None:
    ledger = Ledger(FLAT)
    while ledger.permits(2.0):
        ledger.add(2.3, 1)

    ledger.add(1.0, 1)

    assert ledger.balance <= ledger.head_start


def test_short_answers_have_less_to_lose() -> None:
    assert Ledger(FLAT, max_tokens=20).head_start < Ledger(FLAT, max_tokens=200).head_start


def test_head_start_is_what_two_failed_worthwhile_drafts_lose() -> None:
    """Where only passes of 9 rows and more are worth it, less would forbid every draft."""
    cliff = [0.0, 1.0, 1.6, 2.3, 2.9, 3.5, 4.2, 4.8, 5.4, 3.6, 3.7]

    assert Ledger(FLAT).most() == pytest.approx((1 + 2.5) / 1.15)
    assert Ledger(cliff).permits(3.6)
    assert Ledger([float(n) for n in range(66)]).most() == pytest.approx((1 + 2.5) / 1.15)


def test_what_nearly_always_comes_true_may_take_the_reserve() -> None:
    """Early tries that failed forbid further ones, but not a copy that the ledger would survive."""
    ledger = Ledger(FLAT)
    while ledger.permits(2.0):
        ledger.add(2.0, 1)

    assert ledger.most(is_sure=True) >= 2.0
    assert ledger.head_start == 5.0
