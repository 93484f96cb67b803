"""Measured times on the disk: there whole, or as they were."""

from pathlib import Path

import pytest

from edgespec.api.samples import Samples, read, write

SAMPLES = Samples(
    {1: (0.05, 0.051), 4: (0.08,)}, draft_s=0.01, read_s=0.002, files=(("a.gguf", 9),)
)


def test_samples_come_back_as_they_were(tmp_path: Path) -> None:
    kept = tmp_path / "pace" / "pair.json"

    write(kept, SAMPLES, SAMPLES.files)

    assert read(kept) == SAMPLES
    assert [file.name for file in kept.parent.iterdir()] == ["pair.json"]


def test_samples_that_cannot_be_written_leave_nothing_behind(tmp_path: Path) -> None:
    kept = tmp_path / "pair.json"
    kept.mkdir()  # nothing can take its place

    write(kept, SAMPLES, SAMPLES.files)

    assert list(tmp_path.iterdir()) == [kept]
    assert read(kept) == Samples()


def test_least_of_each_size_counts_and_none_is_much_dearer_than_a_larger_one() -> None:
    held_up = {1: (0.405, 0.4), 2: (0.1,), 4: (0.375, 0.11), 12: (2.7,), 16: (0.6,), 64: (1.2,)}

    curve = Samples(held_up).measured().target

    assert curve.rows == (1, 2, 4, 12, 16, 64)
    assert curve.seconds == pytest.approx((0.13, 0.1, 0.11, 0.78, 0.6, 1.2))


def test_dip_of_a_kernel_stays() -> None:
    dip = {1: (1.0,), 3: (1.63,), 4: (1.37,)}

    assert Samples(dip).measured().target.seconds == (1.0, 1.63, 1.37)
    assert Samples(dip).spread < 1.3


def test_better_kernel_for_more_rows_is_no_bad_moment() -> None:
    metal = {1: (1.0,), 4: (3.9,), 8: (7.4,), 9: (3.2,), 16: (3.4,), 64: (4.0,)}

    assert Samples(metal).measured().target.seconds == (1.0, 3.9, 7.4, 3.2, 3.4, 4.0)
    assert Samples(metal).spread < 1.3


def test_pass_held_up_before_another_kernel_is_told_all_the_same() -> None:
    held_up = {1: (1.0,), 8: (20.0,), 9: (3.2,)}

    assert Samples(held_up).measured().target.of(8) == 8.0
    assert Samples(held_up).spread > 3


@pytest.mark.parametrize(
    "seconds",
    [
        {1: (0.4, 0.05), 4: (0.1, 0.2)},
        {1: (0.405,), 4: (0.375,), 16: (2.7,), 32: (0.68,)},
    ],
    ids=["one size twice", "a larger one is cheaper"],
)
def test_spread_tells_a_bad_moment(seconds: dict[int, tuple[float, ...]]) -> None:
    assert Samples(seconds).spread > 1.5


def test_measurement_is_in_doubt_until_every_size_was_measured_twice() -> None:
    once, twice = Samples({1: (0.05,), 4: (0.1,)}), Samples({1: (0.05, 0.051), 4: (0.1, 0.1)})

    assert once.measured().is_doubtful
    assert not twice.measured().is_doubtful
