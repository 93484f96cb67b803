import pytest

from edgespec.costs import DraftCosts, LiveCosts, PassCosts, class_of

STEPS = PassCosts((1, 4, 8, 9, 16), (1.0, 1.6, 2.4, 5.0, 6.4))


@pytest.mark.parametrize(
    ("n_rows", "seconds"), [(1, 1.0), (2, 1.2), (4, 1.6), (6, 2.0), (8, 2.4), (9, 5.0), (12, 5.6)]
)
def test_costs_between_measured_sizes_lie_on_a_line(n_rows: int, seconds: float) -> None:
    assert STEPS.of(n_rows) == pytest.approx(seconds)


def test_a_dip_stays_a_dip() -> None:
    dipping = PassCosts((1, 2, 3, 4), (84.0, 106.0, 137.0, 115.0))

    assert [dipping.of(n) for n in (1, 2, 3, 4)] == [84.0, 106.0, 137.0, 115.0]


@pytest.mark.parametrize(
    ("rows", "seconds", "n_rows", "want"),
    [
        ((1, 4, 16), (1.0, 1.6, 8.0), 6, 2.0),  # 8 and 9 differ: on from 1 and 4, not towards 16
        ((1, 4, 16), (1.0, 1.6, 8.0), 12, 8.0),  # only 16 tells of that kernel
        ((1, 4), (1.0, 1.6), 16, 6.4),  # nothing does: in proportion to 4
        ((1, 16, 17), (1.0, 4.0, 9.0), 24, 9.0 * 24 / 17),
        ((1,), (1.0,), 5, 5.0),
    ],
)
def test_no_line_is_drawn_across_a_change_of_kernels(
    rows: tuple[int, ...], seconds: tuple[float, ...], n_rows: int, want: float
) -> None:
    assert PassCosts(rows, seconds).of(n_rows) == pytest.approx(want)


def test_a_plain_step_is_a_pass_of_one_row() -> None:
    assert STEPS.plain_s == 1.0


def test_live_costs_begin_as_measured() -> None:
    live = LiveCosts(STEPS)

    assert [live.of(n) for n in (1, 3, 9, 64)] == pytest.approx(
        [STEPS.of(n) for n in (1, 3, 9, 64)]
    )
    assert live.plain_at(0) == 1.0


def test_live_costs_follow_what_passes_of_a_size_class_take() -> None:
    live = LiveCosts(STEPS)

    for _ in range(150):
        live.observe(6, 3.0, 10)

    assert live.of(6) == pytest.approx(3.0, rel=0.01)
    assert live.of(8) == pytest.approx(3.6, rel=0.01)
    assert (live.of(4), live.of(9)) == (STEPS.of(4), STEPS.of(9))


def test_what_plain_steps_show_moves_all_sizes() -> None:
    live = LiveCosts(STEPS)

    for _ in range(200):
        live.observe(1, 2.0, 10)

    assert live.plain_at(10) == pytest.approx(2.0, rel=0.01)
    assert live.of(9) == pytest.approx(10.0, rel=0.01)


def test_live_costs_are_not_thrown_by_one_pass_that_was_held_up() -> None:
    live = LiveCosts(STEPS)

    live.observe(1, 1000.0, 10)
    live.observe(8, 1000.0, 10)

    assert live.plain_at(10) <= 1.05
    assert live.of(8) < 1.2 * STEPS.of(8)


def test_first_passes_overrule_a_measurement_of_a_bad_moment() -> None:
    """Every pass once took eight times as long, and one of one row forty times."""
    live = LiveCosts(PassCosts((1, 4, 8), (40.0, 11.0, 30.0)))

    for context in range(3):
        live.observe(4, 2.2, context)
        live.observe(1, 1.0, context)

    assert live.is_plain_known
    assert live.plain_s == 1.0
    assert live.of(4) == pytest.approx(2.2)


def test_first_passes_that_were_held_up_overrule_nothing() -> None:
    live = LiveCosts(STEPS)

    for seconds in (1.0, 9.0, 9.0):
        live.observe(1, seconds, 10)

    assert live.plain_s == pytest.approx(1.1, rel=0.05)


def test_costs_grow_with_the_context_as_plain_steps_did() -> None:
    live = LiveCosts(STEPS)

    for context in range(1000, 1000 + 64 * 30):
        live.observe(1, 1.0 + context / 1000, context)

    assert live.plain_at(5000) > 1.3 * live.plain_at(2920)


def test_a_context_that_does_not_move_tells_no_slope() -> None:
    live = LiveCosts(STEPS)

    for i in range(64 * 4):
        live.observe(1, 1.0 + (i % 3) / 10, 100)

    assert live.plain_at(100_000) == live.plain_at(100)


def test_draft_costs_follow_what_passes_take() -> None:
    costs = DraftCosts(token_s=0.1, read_s=0.01)

    for _ in range(100):
        costs.observe_tokens(4, 0.8)
        costs.observe_read(10, 0.3)

    assert costs.token_s == pytest.approx(0.2, rel=0.01)
    assert costs.read_s == pytest.approx(0.03, rel=0.01)


@pytest.mark.parametrize("n_rows", [8, 20, 64])
@pytest.mark.parametrize("seen", [[], [(3, 2.5), (9, 4.0)] * 9])
def test_least_cost_of_a_further_row_is_that_of_all_such_rows(
    n_rows: int, seen: list[tuple[int, float]]
) -> None:
    live = LiveCosts(STEPS, n_rows)
    for rows, seconds in seen:
        live.observe(min(rows, n_rows), seconds, 100)

    more = [live.relative[n] - live.relative[n - 1] for n in range(2, n_rows + 2)]
    for n in range(2, n_rows + 2):
        in_class = [m for m in range(2, n_rows + 2) if class_of(m) >= class_of(n)]
        least = min(more[m - 2] for m in in_class)
        assert live.least_more()[class_of(n)] == pytest.approx(least)
