from itertools import islice

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.drafters.automaton import AGREED, MOSTLY, ONCE, SPLIT, Match, SuffixAutomaton

texts = st.integers(1, 4).flatmap(
    lambda n_letters: st.lists(st.integers(0, n_letters - 1), max_size=48)
)


def longest_earlier(tokens: list[int]) -> Match:
    """By trying every length and every place: the latest of the longest."""
    n = len(tokens)
    for length in range(n - 1, 0, -1):
        for end in range(n - 1, length - 1, -1):
            if tokens[end - length : end] == tokens[n - length :]:
                return Match(length, end)
    return Match(0, 0)


def built(tokens: list[int]) -> SuffixAutomaton:
    automaton = SuffixAutomaton()
    automaton.extend(tokens)
    return automaton


@settings(max_examples=200, deadline=None)
@given(texts)
def test_match_is_the_latest_of_the_longest_earlier_occurrences(tokens: list[int]) -> None:
    automaton = built(tokens)

    assert automaton.match == longest_earlier(tokens)


@settings(max_examples=200, deadline=None)
@given(texts, texts)
def test_growing_gives_what_building_at_once_gives(head: list[int], tail: list[int]) -> None:
    grown = built(head)

    for token in tail:
        grown.extend([token])

    assert vars(grown) == vars(built(head + tail))


def test_match_is_found_when_longer_than_any_fixed_order() -> None:
    passage = list(range(500))

    automaton = built([*passage, 900, *passage])

    assert automaton.match == Match(500, 500)


def test_match_is_empty_when_no_token_repeats() -> None:
    assert built([1, 2, 3, 4]).match.length == 0
    assert built([1]).match.length == 0
    assert built([]).match.length == 0


def test_match_is_a_true_occurrence_in_text_of_a_short_period() -> None:
    tokens = [1, 2] * 200

    match = built(tokens).match

    assert match.length == 398
    assert tokens[match.end - match.length : match.end] == tokens[-match.length :]


def test_short_match_is_the_latest_after_a_run_of_one_token() -> None:
    automaton = built([1] * 40 + [2, 1])

    assert automaton.match == Match(1, 40)


def test_index_has_at_most_three_edges_per_token() -> None:
    rng = np.random.default_rng(1)
    periodic, random = [1, 2, 3] * 700, rng.integers(0, 5, 2100).tolist()

    for tokens in (periodic, random):
        edges = built(tokens)._edges

        assert sum(len(out) for out in edges if isinstance(out, dict)) <= 3 * len(tokens)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_copy_begins_with_what_followed_the_latest_longest_match(tokens: list[int]) -> None:
    automaton = built(tokens)

    first = next(automaton.ahead(), None)

    match = longest_earlier(tokens)
    assert (first is None) == (match.length == 0)
    if first is not None:
        assert first[:2] == (tokens[match.end], match.length)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_agreement_is_that_of_all_earlier_continuations(tokens: list[int]) -> None:
    n, length = len(tokens), longest_earlier(tokens).length
    suffix = tokens[n - length :]
    ends = [i + length for i in range(n - length) if tokens[i : i + length] == suffix]
    followers = [tokens[end] for end in ends]

    first = next(built(tokens).ahead(), None)

    if first is not None:
        alike = len(set(followers)) == 1
        most = max(followers.count(token) for token in followers)
        want = MOSTLY if 3 * most >= 2 * len(followers) else SPLIT
        if alike:
            want = AGREED if len(followers) > 1 else ONCE
        assert first[2] == want


def test_copy_goes_on_with_a_shorter_match_where_the_text_ends() -> None:
    copied = [token for token, _, _ in islice(built([1, 2, 3] * 4).ahead(), 20)]

    assert copied == ([1, 2, 3] * 7)[:20]


def test_copy_of_a_text_without_repeats_is_empty() -> None:
    assert list(built([1, 2, 3]).ahead()) == []


def test_other_ways_are_those_that_the_text_went_most_often() -> None:
    automaton = built([1, 2, 3, 9, 1, 2, 3, 8, 1, 2, 4, 7, 1, 2, 5, 6, 1, 2])

    first = next(automaton.fork(1))

    assert next(automaton.ahead())[0] == 5
    assert [token for token, _, _ in first][:1] == [3]


def test_other_way_may_follow_a_shorter_part_of_the_match() -> None:
    automaton = built([7, 2, 9, 9, 1, 2, 3, 5, 1, 2])

    (way,) = automaton.fork(1)

    assert next(automaton.ahead())[:2] == (3, 2)
    assert way[0][:2] == (9, 1)


def test_there_is_no_other_way_where_nothing_else_ever_followed() -> None:
    assert list(built([1, 2, 3, 4, 1, 2]).fork(2)) == [[], []]
    assert list(built([1, 2, 3]).fork(2)) == []


@given(st.lists(st.integers(0, 2), max_size=60))
def test_other_ways_followed_somewhere_and_are_not_the_first(tokens: list[int]) -> None:
    automaton = built(tokens)
    ahead = [token for token, _, _ in islice(automaton.ahead(), 4)]

    ways = list(automaton.fork(4))

    assert len(ways) == len(ahead)
    for at, way in enumerate(ways):
        for token, length, _ in way[:1]:
            context = [*tokens, *ahead[:at]]
            end = context[len(context) - length :]
            where = range(len(tokens) - length)
            assert token != ahead[at]
            assert any(tokens[i : i + length + 1] == [*end, token] for i in where)
