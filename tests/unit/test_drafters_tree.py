"""The tree of several drafters: what is merged, at which price, and what is learned from it."""

from collections.abc import Mapping

import numpy as np

from edgespec.core import Draft, Drafter, Sampling, Tokens
from edgespec.costs import PassCosts
from edgespec.drafters import DrafterInputs
from edgespec.drafters.index import IndexDrafter
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.drafters.tree import MOST_BRANCHES, TreeDrafter
from edgespec.sampling import RequestSampler
from tests.fakes import ListRetriever, tokens_of

FLAT = PassCosts(tuple(range(1, 65)), (1.0,) * 64)
DEAR = PassCosts(tuple(range(1, 65)), tuple(float(n) for n in range(1, 65)))
SAMPLER = RequestSampler(Sampling(), 50)
FORKED = tokens_of(1, 2, 3, 4, 4, 1, 2, 5, 6, 7, 1, 2)
"""After 1, 2 came 3 once, and 5 the last time."""


def tree(
    costs: PassCosts = FLAT,
    texts: list[int] | None = None,
    beside: Mapping[str, Drafter] | None = None,
) -> TreeDrafter:
    inputs = DrafterInputs(
        50,
        lambda token: token == 49,
        costs=costs,
        retriever=None if texts is None else ListRetriever(texts),
        max_branches=16,
        beside=beside or {},
    )
    return TreeDrafter(inputs)


def rates(drafter: TreeDrafter) -> dict[str, list[float]]:
    return {
        kind.name: [bucket.prior for bucket in kind.buckets]
        for kind in (SuffixDrafter, IndexDrafter, drafter)
    }


def unheard(bucket: int, is_hit: bool) -> None:
    raise AssertionError("nothing is to be heard")


def firsts(draft: Draft, context: Tokens) -> set[int]:
    at_root = (b.tokens[0] for b in draft.branches if b.at == len(context))
    return {draft.tokens[0], *at_root}


def test_conversation_and_index_are_both_asked() -> None:
    context = tokens_of(1, 2, 3, 4, 5, 7, 1, 2, 3)

    draft = tree(texts=[1, 2, 3, 9, 9]).draft(context, 12, SAMPLER)

    assert firsts(draft, context) == {4, 9}


def test_both_ways_that_the_conversation_went_are_checked() -> None:
    draft = tree().draft(FORKED, 12, SAMPLER)

    assert firsts(draft, FORKED) == {3, 5}


def test_dear_rows_leave_plain_decoding() -> None:
    assert tree(DEAR).draft(FORKED, 12, SAMPLER) == Draft()


def test_a_chain_is_not_offered_as_a_tree() -> None:
    one = tree()

    assert one.offers(tokens_of(1, 2, 3, 1, 2), 12, rates(one), unheard) == ()


def test_offered_trees_are_drafted_with_so_many_nodes() -> None:
    one = tree()
    offers = one.offers(FORKED, 12, rates(one), unheard)

    for offer in offers:
        assert one.draft(FORKED, offer.n_nodes, SAMPLER).n_nodes == offer.n_nodes
    assert [offer.n_nodes for offer in offers] == list(range(1, len(offers) + 1))
    gains = np.diff([0.0, *(offer.tokens for offer in offers)])
    assert all(gains[:-1] >= gains[1:])


def test_whether_the_other_way_was_gone_is_heard() -> None:
    one, heard = tree(), []
    for token in (3, 8):
        one.offers(FORKED, 12, rates(one), unheard)
        went = np.append(FORKED, np.int32(token))
        one.offers(went, 12, rates(one), lambda bucket, is_hit: heard.append(is_hit))

    assert heard == [True, False]


def test_other_way_ends_with_the_generation() -> None:
    context = tokens_of(1, 2, 3, 49, 9, 1, 2, 5, 6, 7, 1, 2)

    draft = tree().draft(context, 31, SAMPLER)

    assert [b.tokens for b in draft.branches if b.at == len(context)] == [(3, 49)]


def test_what_was_built_beside_it_is_not_read_twice() -> None:
    suffix = SuffixDrafter(DrafterInputs(50, lambda token: False))
    heard = []
    for n in range(8, len(FORKED) + 1):
        next(suffix.outlook(FORKED[:n], lambda bucket, is_hit: heard.append(bucket)), None)
    alone = tree(beside={})
    beside = tree(beside={"suffix": suffix})

    n_heard = len(heard)
    assert beside.draft(FORKED, 12, SAMPLER).n_nodes == alone.draft(FORKED, 12, SAMPLER).n_nodes
    assert len(heard) == n_heard


def test_there_are_never_more_branches_than_it_says() -> None:
    rng = np.random.default_rng(5)
    one = tree(texts=rng.integers(0, 4, 400).tolist())
    context = rng.integers(0, 4, 300).astype(np.int32)

    n_branches = [
        len(one.draft(context[:n], 31, SAMPLER).branches) for n in range(100, len(context))
    ]

    assert max(n_branches) == MOST_BRANCHES
