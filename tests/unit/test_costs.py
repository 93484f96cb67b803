import pytest

from edgespec.costs import PassCosts

STEPS = PassCosts((1, 4, 8, 9), (1.0, 1.6, 2.4, 5.0))


@pytest.mark.parametrize(
    ("n_rows", "seconds"), [(1, 1.0), (2, 1.2), (4, 1.6), (6, 2.0), (8, 2.4), (9, 5.0)]
)
def test_costs_between_measured_sizes_lie_on_a_line(n_rows: int, seconds: float) -> None:
    assert STEPS.of(n_rows) == pytest.approx(seconds)


def test_costs_beyond_the_last_measured_size_grow_in_proportion() -> None:
    assert STEPS.of(18) == pytest.approx(10.0)


def test_a_plain_step_is_a_pass_of_one_row() -> None:
    assert STEPS.plain_s == 1.0
