import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.sampling.select import heaviest, highest

FIXED = settings(derandomize=True, deadline=None, max_examples=100)
SIZES = [1, 2, 7, 300, 3_000, 20_000]
"""Both sides of every threshold: folding, bucketing, sorting."""


def values_of(n: int, n_levels: int, seed: int) -> np.ndarray:
    """Few levels make many ties."""
    rng = np.random.default_rng(seed)
    return (4 * rng.normal(size=n)).round(n_levels).astype(np.float32)


def sorted_down(values: np.ndarray) -> list[int]:
    return np.argsort(-values, kind="stable").tolist()


values = st.builds(values_of, st.sampled_from(SIZES), st.integers(0, 6), st.integers(0, 2**32 - 1))


@FIXED
@given(values, st.data())
def test_highest_equals_the_head_of_a_stable_sort(values: np.ndarray, data: st.DataObject):
    k = data.draw(st.integers(1, len(values)))

    index = highest(values, k)

    assert index.tolist() == sorted(sorted_down(values)[:k])


def test_highest_prefers_the_lower_index_when_all_are_equal():
    values = np.zeros(10_000, np.float32)

    assert highest(values, 3).tolist() == [0, 1, 2]


def test_highest_counts_banned_entries_last():
    values = np.full(1_000, -np.inf, np.float32)
    values[[5, 700]] = [1, 2]

    assert highest(values, 3).tolist() == [0, 5, 700]


@FIXED
@given(values, st.floats(0.001, 1), st.sampled_from(["left", "right"]))
def test_heaviest_is_the_shortest_head_that_reaches_the_mass(values, share, side):
    # Whole weights make every sum exact, so that the boundary is not a matter of rounding.
    weights = np.random.default_rng(len(values)).integers(1, 9, len(values)).astype(np.float64)
    mass = float(np.floor(share * weights.sum()))

    keep = heaviest(values, weights, mass, side)

    order = sorted_down(values)
    before = np.cumsum([0, *weights[order]])
    short = [b < mass if side == "left" else b <= mass for b in before[:-1]]
    head = {order[i] for i, is_short in enumerate(short) if is_short} | {order[0]}
    assert set(np.flatnonzero(keep).tolist()) == head


@pytest.mark.parametrize("n", [3, 5_000])
def test_heaviest_takes_everything_when_the_whole_falls_short(n: int):
    keys = np.arange(n, dtype=np.float32)

    assert heaviest(keys, np.ones(n), 2.0 * n).all()


@pytest.mark.parametrize("scale", [1e-44, 1e-20, 1e30])
def test_heaviest_copes_with_any_spread_of_keys(scale: float):
    keys = (scale * np.arange(5_000)).astype(np.float32)
    keys[:4_000] = 0

    keep = heaviest(keys, np.ones(5_000), 3)

    top = np.flatnonzero(keys == keys.max())
    assert np.flatnonzero(keep).tolist() == (top[:3] if len(top) > 3 else [4_997, 4_998, 4_999])
