"""Merged guesses: which nodes, in which shape, how likely."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgespec.core import Branch, Draft
from edgespec.drafters.ways import Way, best_way, n_accepted, n_common, offered, planned


def guess(tokens: tuple[int, ...], source: str, leaves: int = 0) -> Way:
    return Way(tokens, tuple((source, i) for i in range(len(tokens))), leaves)


def tree(ways: list[Way], rates: dict[str, list[float]], n: int) -> Draft:
    _, order = offered(ways, n, rates)
    return planned(ways, order, 10)


def test_two_guesses_become_a_trunk_and_a_branch_where_they_part() -> None:
    ways = [guess((1, 2, 3), "a"), guess((1, 4), "b", leaves=1)]

    draft = tree(ways, {"a": [0.9, 0.8, 0.7], "b": [0.9, 0.3]}, 9)

    assert draft == Draft((1, 2, 3), branches=(Branch(11, (4,)),))


def test_nodes_beyond_the_budget_are_the_least_likely() -> None:
    ways = [guess((1, 2, 3), "a"), guess((5,), "b")]

    draft = tree(ways, {"a": [0.9, 0.8, 0.1], "b": [0.3]}, 3)

    assert draft == Draft((1, 2), branches=(Branch(10, (5,)),))


def test_where_the_trunk_ends_a_likelier_way_goes_on_with_it() -> None:
    ways = [guess((1, 2, 3), "a"), guess((1, 4, 5), "b", leaves=1)]

    draft = tree(ways, {"a": [0.9, 0.1, 0.1], "b": [0.9, 0.8, 0.8]}, 3)

    assert draft == Draft((1, 4, 5))


def test_another_way_than_the_trunk_has_kinds_only_from_where_it_leaves() -> None:
    other = Way((1, 7, 8), (("a", 0), ("a", 1)), 1, is_other=True)
    ways = [guess((1, 2), "a"), other]

    offers, order = offered(ways, 9, {"a": [0.5, 0.4]})

    assert [o.tokens for o in offers] == pytest.approx([0.5, 0.75, 0.95, 1.05])
    assert order == [0, 1, 0, 1]


def test_of_two_drafters_that_agree_the_surer_one_counts() -> None:
    ways = [guess((1, 2), "a"), guess((1, 3), "b", leaves=1)]

    offers, _ = offered(ways, 1, {"a": [0.3, 0.3], "b": [0.9, 0.9]})

    assert offers[0].tokens == 0.9


def test_what_hardly_survives_is_left_out() -> None:
    offers, order = offered([guess((1, 2, 3), "a")], 9, {"a": [0.5, 0.01, 0.9]})

    assert (len(offers), order) == (1, [0])
    assert planned([], [], 10) == Draft()


def test_nothing_is_offered_where_nothing_is_guessed() -> None:
    assert offered([], 9, {}) == ([], [])


def test_best_way_is_the_one_that_a_text_follows_longest() -> None:
    draft = Draft((1, 2), branches=(Branch(11, (3, 4)), Branch(10, (5,))))

    assert best_way(draft, 10, [1, 3, 4, 9]) == ((1, 3, 4), 3)
    assert best_way(draft, 10, [5, 5]) == ((5,), 1)
    assert best_way(draft, 10, [7]) == ((1, 2), 0)
    assert best_way(Draft(), 10, [7]) == ((), 0)


rates = st.lists(st.floats(0.05, 0.99), min_size=1, max_size=4)
guesses = rates.flatmap(lambda r: st.tuples(st.tuples(*[st.integers(0, 2)] * len(r)), st.just(r)))


@given(guesses, guesses, st.integers(0, 6), st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_nodes_are_the_likeliest_and_their_tree_takes_what_the_text_says(
    a: tuple[tuple[int, ...], list[float]],
    b: tuple[tuple[int, ...], list[float]],
    k: int,
    text: list[int],
) -> None:
    shared = n_common(a[0], b[0])
    ways = [guess(a[0], "a")]
    if shared < min(len(a[0]), len(b[0])):
        ways.append(guess(b[0], "b", shared))
    rates = {"a": a[1], "b": b[1]}

    offers, order = offered(ways, k, rates)
    draft = planned(ways, order, 5)

    alike = [max(x, y) for x, y in zip(a[1], b[1], strict=False)][:shared]
    likely = [[*alike, *a[1][shared:]] if len(ways) > 1 else a[1], [*alike, *b[1][shared:]]]
    nodes: dict[tuple[int, ...], float] = {}
    for way, r in zip(ways, likely, strict=False):
        for i, survives in enumerate(np.cumprod(r), start=1):
            if survives >= 0.01:
                nodes[way.tokens[:i]] = float(survives)
    chosen = {draft.tokens[:i] for i in range(1, len(draft.tokens) + 1)}
    for branch in draft.branches:
        trunk = draft.tokens[: branch.at - 5]
        chosen |= {(*trunk, *branch.tokens[:i]) for i in range(1, len(branch.tokens) + 1)}
    assert len(chosen) == draft.n_nodes == min(k, len(nodes))
    best = max(sum(nodes[n] for n in c) for c in combinations(nodes, len(chosen)))
    assert sum(nodes[n] for n in chosen) == pytest.approx(best)
    assert [o.n_nodes for o in offers] == list(range(1, len(chosen) + 1))
    assert not offers or offers[-1].tokens == pytest.approx(best)
    longest = max((len(n) for n in chosen if list(n) == text[: len(n)]), default=0)
    accepted = [n_common(way.tokens, text) for way in ways]
    assert n_accepted(ways, accepted, order) == longest
