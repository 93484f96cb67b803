from edgespec.costs import PassCosts
from edgespec.drafters.lengths import HitRates, best_length

FLAT = PassCosts((1, 64), (1.0, 1.5))
STEEP = PassCosts((1, 2, 64), (1.0, 2.5, 100.0))
CLIFF = PassCosts((1, 2, 16, 17, 64), (1.0, 2.0, 16.0, 4.0, 5.0))


def believing(rate: float, matches: range = range(1, 80)) -> HitRates:
    """Rates after many observations that came true with `rate`."""
    rates = HitRates()
    for match in matches:
        for i in range(200):
            rates.observe(match, i % 100 < rate * 100)
    return rates


def test_rates_follow_what_came_true() -> None:
    rates = HitRates()
    before = rates.rate(4)

    for _ in range(20):
        rates.observe(4, True)

    assert before < 0.8 < rates.rate(4)


def test_rates_of_one_length_class_leave_the_others_alone() -> None:
    rates = HitRates()
    before = rates.rate(40)

    for _ in range(20):
        rates.observe(1, False)

    assert rates.rate(40) == before


def test_rates_forget_another_text() -> None:
    rates = believing(1.0)

    for _ in range(60):
        rates.observe(1, False)

    assert rates.rate(1) < 0.1


def test_long_matches_are_copied_far_where_rows_are_cheap() -> None:
    length, speed = best_length(40, believing(1.0), FLAT, 63)

    assert length == 63
    assert speed > 40


def test_nothing_is_drafted_where_a_row_costs_more_than_it_brings() -> None:
    assert best_length(40, HitRates(), STEEP, 63) == (0, 1.0)


def test_weak_matches_are_copied_less_far_than_long_ones() -> None:
    costs = PassCosts((1, 2, 4, 64), (1.0, 1.2, 1.6, 26.0))

    weak, _ = best_length(1, believing(0.3, range(1, 3)), costs, 63)
    strong, _ = best_length(40, HitRates(), costs, 63)

    assert weak < strong


def test_a_length_beyond_a_cliff_is_found() -> None:
    length, _ = best_length(60, HitRates(), CLIFF, 63)

    assert length > 15


def test_no_length_is_over_the_limit() -> None:
    assert best_length(60, HitRates(), FLAT, 5)[0] <= 5
