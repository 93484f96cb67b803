"""Merged guesses: which nodes, in which shape, at which price."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgespec.core import Branch, Draft, Sampling
from edgespec.costs import PassCosts
from edgespec.drafters import DrafterInputs
from edgespec.drafters.tree import Guess, TreeDrafter, best_tree
from edgespec.sampling import RequestSampler
from tests.fakes import ListRetriever, tokens_of

FLAT = PassCosts(tuple(range(1, 65)), (1.0,) * 64)
DEAR = PassCosts(tuple(range(1, 65)), tuple(float(n) for n in range(1, 65)))
STEPS = PassCosts(tuple(range(1, 17)), (1.0,) + (1.2,) * 3 + (3.0,) * 12)


def test_two_guesses_become_a_trunk_and_a_branch_where_they_part() -> None:
    a, b = Guess((1, 2, 3), (0.9, 0.8, 0.7)), Guess((1, 4), (0.9, 0.5))

    assert best_tree([a, b], 10, 9, FLAT) == Draft((1, 2, 3), branches=(Branch(11, (4,)),))


def test_equal_guesses_are_one_chain() -> None:
    a = Guess((1, 2), (0.9, 0.8))

    assert best_tree([a, a], 10, 9, FLAT) == Draft((1, 2))


def test_nodes_beyond_the_budget_are_the_least_likely() -> None:
    a, b = Guess((1, 2, 3), (0.9, 0.8, 0.1)), Guess((5,), (0.3,))

    assert best_tree([a, b], 10, 3, FLAT) == Draft((1, 2), branches=(Branch(10, (5,)),))


def test_dear_rows_leave_plain_decoding() -> None:
    assert best_tree([Guess((1, 2), (0.6, 0.5))], 10, 9, DEAR) == Draft()


def test_tree_fills_a_step_of_the_curve_and_no_more() -> None:
    a, b = Guess((1, 2, 3, 4), (0.9, 0.8, 0.3, 0.3)), Guess((5, 6), (0.4, 0.2))

    assert best_tree([a, b], 10, 9, STEPS) == Draft((1, 2), branches=(Branch(10, (5,)),))


survivals = st.lists(st.floats(0.05, 0.99), min_size=1, max_size=4).map(
    lambda rates: tuple(float(x) for x in np.cumprod(rates))
)
guesses = survivals.flatmap(
    lambda s: st.tuples(*[st.integers(0, 2)] * len(s)).map(lambda tokens: Guess(tokens, s))
)


@given(st.lists(guesses, min_size=1, max_size=2), st.integers(0, 6))
def test_choice_is_the_best_of_all_trees_and_of_all_chains(found: list[Guess], k: int) -> None:
    draft = best_tree(found, 5, k, STEPS)

    paths: dict[tuple[int, ...], float] = {}
    for guess in found:
        for i, survives in enumerate(guess.survives, start=1):
            paths[guess.tokens[:i]] = max(paths.get(guess.tokens[:i], 0.0), survives)

    def speed(nodes: tuple[tuple[int, ...], ...]) -> float:
        return (1 + sum(paths[node] for node in nodes)) / STEPS.of(1 + len(nodes))

    def is_tree(nodes: tuple[tuple[int, ...], ...]) -> bool:
        return all(len(node) == 1 or node[:-1] in nodes for node in nodes)

    possible = (c for n in range(k + 1) for c in combinations(paths, n) if is_tree(c))
    chosen = {draft.tokens[:i] for i in range(1, len(draft.tokens) + 1)}
    for branch in draft.branches:
        trunk = draft.tokens[: branch.at - 5]
        chosen |= {(*trunk, *branch.tokens[:i]) for i in range(1, len(branch.tokens) + 1)}
    assert len(chosen) == draft.n_nodes <= k
    assert speed(tuple(chosen)) >= max(map(speed, possible)) - 1e-9


def test_conversation_and_index_are_both_asked() -> None:
    texts = ListRetriever([1, 2, 3, 9, 9])
    inputs = DrafterInputs(50, lambda token: False, costs=FLAT, retriever=texts, max_branches=16)
    context = tokens_of(1, 2, 3, 4, 5, 7, 1, 2, 3)

    draft = TreeDrafter(inputs).draft(context, 12, RequestSampler(Sampling(), 50))

    ways = {draft.tokens[0], *(branch.tokens[0] for branch in draft.branches)}
    assert ways == {4, 9}
