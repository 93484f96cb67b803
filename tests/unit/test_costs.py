import pytest

from edgespec.costs import LiveCosts, PassCosts

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


def test_live_costs_begin_as_measured() -> None:
    live = LiveCosts(STEPS)

    assert [live.of(n) for n in (1, 3, 9, 64, 100)] == pytest.approx(
        [STEPS.of(n) for n in (1, 3, 9, 64, 100)]
    )
    assert live.plain_s == 1.0


def test_live_costs_follow_what_passes_of_a_size_class_take() -> None:
    live = LiveCosts(STEPS)

    for _ in range(60):
        live.observe(6, 4.0)

    assert live.of(6) == pytest.approx(4.0, rel=0.01)
    assert live.of(8) == pytest.approx(4.8, rel=0.01)
    assert (live.of(4), live.of(9)) == (STEPS.of(4), STEPS.of(9))


def test_live_costs_are_not_thrown_by_one_pass_that_was_held_up() -> None:
    live = LiveCosts(STEPS)

    live.observe(1, 1000.0)

    assert live.plain_s < 1.5
