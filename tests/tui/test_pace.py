"""How long the screen rests between drawings."""

import sys

from edgespec.tui.pace import MAX_INTERVAL_S, MIN_INTERVAL_S, SHARE, SWITCH_S, Pace

from tests.tui.stage import played, staged


class Thread:
    """Its CPU time, as a test spends it."""

    def __init__(self) -> None:
        self.spent_s = 0.0

    def __call__(self) -> float:
        return self.spent_s


def drawn(pace: Pace, thread: Thread, cost_s: float, n: int) -> None:
    for _ in range(n):
        thread.spent_s += cost_s
        pace.drawn()


def test_pace_rests_so_long_that_drawing_takes_its_share_and_no_more() -> None:
    thread = Thread()
    pace = Pace(thread)

    drawn(pace, thread, 0.010, 40)

    assert 0.010 / pace.rest_s <= SHARE * 1.001
    assert 0.010 / (pace.rest_s + 0.010) > 0.9 * SHARE


def test_pace_draws_twelve_times_a_second_at_most_and_soon_enough_to_be_read() -> None:
    thread = Thread()
    pace = Pace(thread)

    drawn(pace, thread, 0.0001, 40)
    quick_s = pace.rest_s
    drawn(pace, thread, 0.5, 40)

    assert (quick_s, pace.rest_s) == (MIN_INTERVAL_S, MAX_INTERVAL_S)


def test_pace_leaves_out_what_was_spent_while_nothing_was_drawn() -> None:
    thread = Thread()
    pace = Pace(thread)

    thread.spent_s += 5.0
    pace.woke()

    assert pace.drawn() == 0.0


def test_drawing_gives_way_to_steps_while_the_chat_is_open_and_then_as_before() -> None:
    async def scenario() -> None:
        async with staged():
            inside_s.append(sys.getswitchinterval())

    inside_s: list[float] = []
    before_s = sys.getswitchinterval()

    played(scenario)

    assert [round(s, 6) for s in inside_s] == [SWITCH_S]
    assert sys.getswitchinterval() == before_s > SWITCH_S
