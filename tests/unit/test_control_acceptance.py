import pytest

from edgespec.control.acceptance import Acceptance, Counts, Usual
from edgespec.drafters.arms import Bucket

BUCKETS = (Bucket("rare", 0.2), Bucket("sure", 0.9))


def after(hits: int, misses: int, earlier: Counts | None = None) -> Acceptance:
    acceptance = Acceptance(Usual(BUCKETS, earlier))
    for i in range(hits + misses):
        acceptance.observe(0, i >= misses)
    return acceptance


def test_rates_begin_with_the_priors() -> None:
    assert after(0, 0).rates == [0.2, 0.9]


def test_rates_follow_what_came_true_in_their_own_bucket() -> None:
    acceptance = after(20, 0)

    assert acceptance.rates[0] > 0.7
    assert acceptance.rates[1] == 0.9


def test_rates_forget_another_text() -> None:
    acceptance = after(200, 0)

    for _ in range(40):
        acceptance.observe(0, False)

    assert acceptance.rates[0] < 0.3


def test_no_rate_is_a_certainty() -> None:
    assert after(10_000, 0).rates[0] < 1


def test_next_answer_leans_on_what_is_usual() -> None:
    usual = Usual(BUCKETS)
    first = Acceptance(usual)
    for _ in range(30):
        first.observe(0, True)

    assert Acceptance(usual).rates[0] == pytest.approx(usual.rate(0))
    assert usual.rate(0) > 0.7


def test_next_session_begins_with_the_counts_of_earlier_ones() -> None:
    assert after(0, 0, Counts((90.0, 0.0), (10.0, 0.0))).rates[0] > 0.6


def test_earlier_counts_weigh_no_more_than_a_few_answers() -> None:
    few = after(0, 12, Counts((27.0, 0.0), (3.0, 0.0)))
    many = after(0, 12, Counts((2700.0, 0.0), (300.0, 0.0)))

    assert many.rates[0] == pytest.approx(few.rates[0])


def test_counts_of_other_buckets_are_not_taken() -> None:
    assert after(0, 0, Counts((5.0,), (0.0,))).rates == [0.2, 0.9]


def test_hope_is_larger_where_less_is_known() -> None:
    fresh, known = after(0, 0), after(10, 40)

    assert fresh.hopeful(0) - fresh.rates[0] > known.hopeful(0) - known.rates[0] > 0
