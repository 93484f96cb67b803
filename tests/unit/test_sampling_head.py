"""What the best tokens alone prove about a row, against weighing all of them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.core import Probs, Row
from edgespec.sampling.head import Head
from edgespec.sampling.pool import whole
from edgespec.sampling.truncate import min_p_floor

FIXED = settings(derandomize=True, deadline=None, max_examples=100)


def row_of(scale: float, lead: float, n_leading: int, seed: int) -> Row:
    rng = np.random.default_rng(seed)
    row = (scale * rng.normal(size=3_000)).astype(np.float32)
    row[rng.choice(3_000, n_leading)] += np.float32(lead)
    return row


rows = st.builds(
    row_of,
    st.sampled_from([0.3, 1, 2, 3, 6]),
    st.sampled_from([0, 5, 12, 25]),
    st.sampled_from([1, 30]),
    st.integers(0, 2**32 - 1),
)
floors = st.sampled_from([0.0, 1e-4, 0.02, 0.3])


def true_weights(row: Row) -> Probs:
    weights: Probs = np.exp(row.astype(np.float64) - row.max())
    return weights


@FIXED
@given(rows, floors)
def test_bounds_hold_the_true_total(row: Row, min_p: float) -> None:
    head = Head.of(whole(row), min_p_floor(row.max(), min_p))

    if head is not None:
        least, most = head.bounds_of_total()
        total = true_weights(row).sum()
        assert least * (1 - 1e-9) <= total <= most * (1 + 1e-9)


def test_bounds_hold_when_all_others_lie_just_below_the_head() -> None:
    row = np.full(3_000, -8.01, np.float32)
    row[7] = 0
    head = Head.of(whole(row), -math.inf)
    assert head is not None

    assert true_weights(row).sum() <= head.bounds_of_total()[1]


@FIXED
@given(rows, floors, st.floats(0.05, 0.999), st.floats(1, 1.3))
def test_cut_is_right_for_both_masses_or_undecided(
    row: Row, min_p: float, share: float, slack: float
) -> None:
    floor = min_p_floor(row.max(), min_p)
    head = Head.of(whole(row), floor)
    weights = true_weights(row)
    least = share * weights.sum()

    cut = None if head is None else head.cut(least, slack * least)

    if cut is not None:
        found = {token for token in cut.ids.tolist() if row[token] >= floor}
        for mass in (least, slack * least):
            order = np.argsort(-row, kind="stable")
            n_kept = int(np.searchsorted(np.cumsum(weights[order]), mass)) + 1
            assert found == {token for token in order[:n_kept].tolist() if row[token] >= floor}


def test_head_of_a_peaked_row_decides_alone() -> None:
    row = row_of(2.5, 25, 30, seed=0)
    head = Head.of(whole(row), -math.inf)
    assert head is not None
    least, most = head.bounds_of_total()

    cut = head.cut(0.9 * least, 0.9 * most)

    assert cut is not None
    assert len(cut) < len(head.few)


def test_head_of_a_flat_row_is_what_min_p_keeps_and_decides_alone() -> None:
    row = row_of(1, 0, 1, seed=0)
    head = Head.of(whole(row), min_p_floor(row.max(), 0.2))
    assert head is not None
    least, most = head.bounds_of_total()

    cut = head.cut(0.95 * least, 0.95 * most)

    assert cut is head.few


@pytest.mark.parametrize("floor", [-math.inf, -20.0])
def test_flat_row_has_no_head_without_a_floor_that_leaves_few(floor: float) -> None:
    assert Head.of(whole(row_of(1, 0, 1, seed=0)), floor) is None
