from typing import SupportsIndex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.errors import UsageError
from edgespec.text.stops import StopFinder, tail_start

_STOPS = st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3)


def _streamed(stops: list[str], pieces: list[str]) -> tuple[list[str], bool]:
    finder = StopFinder(stops)
    shown = [finder.feed(piece)[0] for piece in pieces]
    rest, is_stopped = finder.flush()
    return [*shown, rest], is_stopped


def test_stop_finder_shows_no_part_of_a_stop_string_over_block_borders() -> None:
    shown, is_stopped = _streamed(["STOP"], ["one S", "T", "OP two"])

    assert (shown, is_stopped) == (["one ", "", "", ""], True)


def test_stop_finder_ends_at_the_first_stop_when_a_block_holds_several() -> None:
    shown, is_stopped = _streamed(["END", "STOP"], ["a STOP b END c STOP"])

    assert (shown, is_stopped) == (["a ", ""], True)


def test_stop_finder_gives_back_what_began_a_stop_but_was_none() -> None:
    shown, is_stopped = _streamed(["STOP"], ["STO", "RE"])

    assert (shown, is_stopped) == (["", "STORE", ""], False)


def test_stop_finder_gives_the_held_tail_when_the_text_ends() -> None:
    shown, is_stopped = _streamed(["STOP"], ["one ST"])

    assert (shown, is_stopped) == (["one ", "ST"], False)


def test_stop_finder_waits_when_an_earlier_stop_may_still_come() -> None:
    assert _streamed(["b", "abc"], ["ab", "c"]) == (["", "", ""], True)
    assert _streamed(["b", "abc"], ["ab", "d"]) == (["", "a", ""], True)
    assert _streamed(["b", "abc"], ["ab"]) == (["", "a"], True)


def test_stop_finder_gives_nothing_after_a_stop() -> None:
    finder = StopFinder(["x"])

    finder.feed("ax")

    assert finder.feed("more") == ("", True)


def test_stop_finder_refuses_an_empty_stop_string() -> None:
    with pytest.raises(UsageError, match="stop string is empty"):
        StopFinder(["a", ""])


def test_tail_start_reads_no_more_than_the_longest_needle() -> None:
    class Counted(str):
        n_read = 0

        def __getitem__(self, key: SupportsIndex | slice) -> str:
            Counted.n_read += 1
            return str.__getitem__(self, key)

    tail_start(Counted("x" * 10_000), ["STOP"])

    assert Counted.n_read <= 6


@settings(deadline=None)
@given(_STOPS, st.lists(st.text("ab\n", max_size=5), max_size=10))
def test_stop_finder_equals_a_search_of_the_whole_text(stops: list[str], pieces: list[str]) -> None:
    whole = "".join(pieces)
    found = [whole.find(stop) for stop in stops if stop in whole]

    shown, is_stopped = _streamed(stops, pieces)

    assert "".join(shown) == (whole[: min(found)] if found else whole)
    assert is_stopped == bool(found)


@settings(deadline=None)
@given(_STOPS, st.lists(st.text("ab\n", max_size=5), max_size=10))
def test_stop_finder_shows_all_that_is_certain(stops: list[str], pieces: list[str]) -> None:
    finder = StopFinder(stops)
    longest = max(map(len, stops), default=1)
    n_fed = n_shown = 0

    for piece in pieces:
        text, is_stopped = finder.feed(piece)
        n_fed, n_shown = n_fed + len(piece), n_shown + len(text)
        if is_stopped:
            break

        assert n_fed - n_shown < longest
