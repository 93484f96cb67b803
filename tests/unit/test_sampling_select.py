import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.core import Row
from edgespec.sampling.select import highest, where

FIXED = settings(derandomize=True, deadline=None, max_examples=100)
SIZES = [1, 2, 7, 300, 3_000, 20_000]
"""Both sides of every threshold: folding, bucketing, sorting."""


def values_of(n: int, n_levels: int, seed: int) -> Row:
    """Few levels make many ties."""
    rng = np.random.default_rng(seed)
    return (4 * rng.normal(size=n)).round(n_levels).astype(np.float32)


def sorted_down(values: Row) -> list[int]:
    return [int(i) for i in np.argsort(-values, kind="stable")]


values = st.builds(values_of, st.sampled_from(SIZES), st.integers(0, 6), st.integers(0, 2**32 - 1))


@FIXED
@given(values, st.data())
def test_highest_equals_the_head_of_a_stable_sort(values: Row, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))

    index = highest(values, k)

    assert index.tolist() == sorted(sorted_down(values)[:k])


def test_highest_prefers_the_lower_index_when_all_are_equal() -> None:
    values = np.zeros(10_000, np.float32)

    assert highest(values, 3).tolist() == [0, 1, 2]


def test_highest_counts_banned_entries_last() -> None:
    values = np.full(1_000, -np.inf, np.float32)
    values[[5, 700]] = [1, 2]

    assert highest(values, 3).tolist() == [0, 5, 700]


@FIXED
@given(st.integers(1, 5_000), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_where_equals_flatnonzero_at_any_density(n: int, density: float, seed: int) -> None:
    mask = np.random.default_rng(seed).random(n) < density

    index = where(mask)

    assert index.tolist() == np.flatnonzero(mask).tolist()


def test_where_finds_the_places_of_a_sparse_mask() -> None:
    mask = np.arange(1_000) % 13 == 0

    assert where(mask).tolist() == list(range(0, 1_000, 13))
