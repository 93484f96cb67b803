"""The same number of nodes as a chain and as a tree, along recorded answers."""

import pytest

from edgespec.control.costs import Measured
from edgespec.costs import PassCosts
from edgespec.drafters.ways import Way
from edgespec.replay import nodes
from edgespec.replay.curves import FLAT
from edgespec.replay.grown import Grown
from edgespec.replay.trace import Proposal, Trace

HOSTILE = Measured(PassCosts((1, 2, 64), (1.0, 2.2, 140.8)))
FORK = (
    Way((), (("suffix", 2), ("suffix", 2)), 0),
    Way((), (("tree", 3), ("suffix", 3), ("suffix", 3)), 0, is_other=True),
)
"""A seen pair of tokens, and another way of three."""


def made(forks: list[tuple[int, int]]) -> Trace:
    """An answer with a fork at each token, and how far it went along either way."""
    n = len(forks)
    proposals = tuple(Proposal((2, 2), min(a, n - at)) for at, (a, _) in enumerate(forks))
    grown = tuple(
        Grown(FORK, (min(a, n - at), min(b, n - at) if not a else 0))
        for at, (a, b) in enumerate(forks)
    )
    return Trace("made", 0.0, 50, n, {"suffix": proposals}, {}, trees=grown)


def test_trees_of_a_size_bring_more_than_chains_where_the_second_way_is_right() -> None:
    found = list(nodes.of_sizes([made([(0, 3)] * 120)], {"flat": FLAT, "hostile": HOSTILE}))

    one, five = found[0], found[3]
    assert (one.n_nodes, one.chain, one.alone) == (1, 1.0, {"suffix": 1.0})
    assert five.tree > 3.5 > 1.0 == five.chain
    assert five.share > 0.9
    assert five.times["flat"][1] > 3 > five.times["flat"][0]
    assert five.times["hostile"][1] < 1


def test_trees_of_a_size_are_left_alone_where_the_first_way_is_right() -> None:
    found = list(nodes.of_sizes([made([(2, 0)] * 120)], {"flat": FLAT}))

    assert all(one.chain == pytest.approx(one.alone["suffix"], rel=0.02) for one in found)
    assert found[1].chain > 2.9
    assert found[1].share == 0


def test_sizes_are_shown_side_by_side() -> None:
    found = list(nodes.of_sizes([made([(0, 3), (2, 0)] * 20)], {"flat": FLAT}))

    shown = list(nodes.lines(found))

    assert shown[1].split() == ["nodes", "suffix", "chain", "tree", "taken", "flat"]
    assert [int(line.split()[0]) for line in shown[2:]] == list(nodes.SIZES)
