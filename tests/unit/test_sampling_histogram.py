"""Cuts by mass against a stable sort of everything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.core import Probs, Row
from edgespec.sampling.histogram import Histogram, Side, heaviest
from edgespec.sampling.select import Floats

FIXED = settings(derandomize=True, deadline=None, max_examples=100)
SIZES = [1, 2, 7, 300, 3_000, 20_000]
"""Few and many buckets, and both sides of what is sorted."""


def values_of(n: int, n_levels: int, seed: int) -> Row:
    """Few levels make many ties."""
    rng = np.random.default_rng(seed)
    return (4 * rng.normal(size=n)).round(n_levels).astype(np.float32)


def whole_weights(n: int) -> Probs:
    """They make every sum exact, so that a boundary is not a matter of rounding."""
    return np.random.default_rng(n).integers(1, 9, n).astype(np.float64)


def head(keys: Floats, weights: Probs, mass: float, side: Side) -> set[int]:
    """The fewest largest keys that reach the mass, or exceed it."""
    order = np.argsort(-keys, kind="stable").tolist()
    before = np.cumsum([0, *weights[order]])
    short = [b < mass if side == "left" else b <= mass for b in before[:-1]]
    return {order[i] for i, is_short in enumerate(short) if is_short} | {order[0]}


values = st.builds(values_of, st.sampled_from(SIZES), st.integers(0, 6), st.integers(0, 2**32 - 1))


@FIXED
@given(values, st.floats(0.001, 1), st.sampled_from(["left", "right"]))
def test_heaviest_is_the_shortest_head_that_reaches_the_mass(
    values: Row, share: float, side: Side
) -> None:
    weights = whole_weights(len(values))
    mass = float(np.floor(share * weights.sum()))

    keep = heaviest(values, weights, mass, side)

    assert set(np.flatnonzero(keep).tolist()) == head(values, weights, mass, side)


@FIXED
@given(values, st.floats(0, 1), st.floats(0.001, 0.999))
def test_nearest_keeps_the_fewest_that_weigh_more_than_the_mass(
    values: Row, depth: float, share: float
) -> None:
    offsets, weights = values - values.max(), whole_weights(len(values))
    centre, mass = depth * float(offsets.min()), float(np.floor(share * weights.sum()))

    nearest = Histogram.of(offsets, weights).nearest(centre, mass)

    closeness = -np.abs(offsets.astype(np.float64) - centre)
    assert nearest.kept is not None
    kept = set(np.flatnonzero(nearest.kept).tolist())
    assert kept == head(closeness, weights, mass, "right")
    assert nearest.masses.sum() == weights[list(kept)].sum()


@FIXED
@given(values, st.floats(0, 1), st.floats(0.001, 0.999), st.floats(0.001, 1))
def test_best_of_the_nearest_is_a_head_of_those_alone(
    values: Row, depth: float, share: float, then_share: float
) -> None:
    offsets, weights = values - values.max(), whole_weights(len(values))
    nearest = Histogram.of(offsets, weights).nearest(
        depth * float(offsets.min()), float(np.floor(share * weights.sum()))
    )
    mass = float(np.ceil(then_share * nearest.masses.sum()))

    keep = nearest.best(mass)

    assert nearest.kept is not None
    among = np.flatnonzero(nearest.kept)
    best = head(offsets[among], weights[among], mass, "left")
    assert set(np.flatnonzero(keep).tolist()) == {int(among[i]) for i in best}


@pytest.mark.parametrize("n", [3, 5_000])
def test_heaviest_takes_everything_when_the_whole_falls_short(n: int) -> None:
    keys = np.arange(n, dtype=np.float32)

    assert heaviest(keys, np.ones(n), 2.0 * n).all()


@pytest.mark.parametrize("scale", [1e-44, 1e-20, 1e30])
def test_heaviest_copes_with_any_spread_of_keys(scale: float) -> None:
    keys = (scale * np.arange(5_000)).astype(np.float32)
    keys[:4_000] = 0

    keep = heaviest(keys, np.ones(5_000), 3)

    top = np.flatnonzero(keys == keys.max())
    assert np.flatnonzero(keep).tolist() == (top[:3] if len(top) > 3 else [4_997, 4_998, 4_999])
