"""Byte counts over time become states: rates, stalls and notes."""

import pytest

from edgespec.store.progress import Meter, PullProgress


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def _meter(told: list[PullProgress], clock: Clock) -> Meter:
    return Meter(told.append, "m", "download", "a hub", 1_000, clock)


def test_meter_tells_ten_states_a_second_at_most(clock: Clock) -> None:
    told: list[PullProgress] = []
    meter = _meter(told, clock)

    for i in range(100):
        meter.at(i)
        clock.now_s += 0.01

    assert len(told) == 10


def test_meter_gives_the_rate_of_the_last_seconds(clock: Clock) -> None:
    told: list[PullProgress] = []
    meter = _meter(told, clock)
    for i in range(21):
        meter.at(10 * i)
        clock.now_s += 1

    assert told[-1].bytes_per_s == pytest.approx(10)
    assert told[-1].left_s == pytest.approx(80)


def test_meter_says_how_long_nothing_came(clock: Clock) -> None:
    told: list[PullProgress] = []
    meter = _meter(told, clock)
    for _ in range(8):
        meter.at(5)
        clock.now_s += 1
    meter.at(6)

    assert [state.stalled_s for state in told] == [0, 0, 0, 0, 0, 0, 6, 7, 0]
    assert told[7].left_s is None
    assert told[-1].bytes_per_s is None  # the rate counts from here


def test_meter_keeps_a_note_until_bytes_come(clock: Clock) -> None:
    told: list[PullProgress] = []
    meter = _meter(told, clock)
    meter.at(5)
    meter.say("trying again")
    clock.now_s += 1
    meter.tick()
    clock.now_s += 1
    meter.at(6)

    assert [state.note for state in told] == ["", "trying again", "trying again", ""]


def test_meter_counts_anew_when_a_download_starts_over(clock: Clock) -> None:
    told: list[PullProgress] = []
    meter = _meter(told, clock)
    for done_bytes in (0, 900, 10, 20):
        meter.at(done_bytes)
        clock.now_s += 1

    assert told[-1].bytes_per_s == pytest.approx(10)
