"""Bootstrap intervals: their coverage, and what they do without repeats."""

import math

import numpy as np
import pytest

from edgespec.bench.intervals import Interval, intervals


def noisy(random: np.random.Generator, truth: float, n_groups: int, n: int) -> list[list[float]]:
    """Logarithms of ratios around `truth`, 3 % of noise each."""
    return [list(math.log(truth) + 0.03 * random.standard_normal(n)) for _ in range(n_groups)]


@pytest.mark.parametrize(("n_groups", "n"), [(4, 2), (8, 2), (3, 6)])
def test_interval_holds_the_truth_about_as_often_as_it_says(n_groups: int, n: int) -> None:
    random = np.random.default_rng(3)

    found = [intervals(noisy(random, 1.2, n_groups, n)) for _ in range(200)]

    n_total = sum(f.total is not None and 1.2 in f.total for f in found)
    n_group = sum(f.groups[0] is not None and 1.2 in f.groups[0] for f in found)
    # 95 % of 200 are 190; the standard deviation is 3.
    assert n_total >= 181
    assert n_group >= 181


def test_interval_over_all_groups_is_narrower_than_one_groups() -> None:
    found = intervals(noisy(np.random.default_rng(1), 1.0, 9, 2))

    assert found.total is not None
    assert found.groups[0] is not None
    width = found.total.high - found.total.low
    assert width < (found.groups[0].high - found.groups[0].low) / 2


def test_nothing_repeated_gives_no_interval() -> None:
    found = intervals([[0.1], [0.2]])

    assert found.total is None
    assert found.groups == (None, None)


def test_two_turns_of_one_prompt_give_no_interval() -> None:
    assert intervals([[0.1, 0.2]]).total is None


def test_equal_turns_give_an_interval_of_no_width() -> None:
    found = intervals([[math.log(2)] * 4])

    assert found.total is not None
    assert found.total.low == pytest.approx(2)
    assert found.total.high == pytest.approx(2)


def test_higher_level_gives_a_wider_interval() -> None:
    logs = noisy(np.random.default_rng(1), 1.0, 6, 2)

    usual, careful = intervals(logs).total, intervals(logs, level=0.999).total

    assert usual is not None
    assert careful is not None
    assert careful.low < usual.low < usual.high < careful.high


def test_interval_contains_its_bounds() -> None:
    assert 1.0 in Interval(1.0, 1.2)
    assert 1.21 not in Interval(1.0, 1.2)
