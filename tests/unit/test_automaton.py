import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.drafters.automaton import Match, SuffixAutomaton

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


def test_extend_tells_of_every_match_whether_it_was_continued() -> None:
    heard: list[tuple[int, bool]] = []

    SuffixAutomaton().extend(
        [1, 2, 3, 1, 2, 4], lambda length, is_hit: heard.append((length, is_hit))
    )

    assert heard == [(1, True), (2, False)]
