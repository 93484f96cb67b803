"""Lookahead's window and pool on a language whose next token follows from the last one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from edgespec.core import Draft, Row, Sampling, Tokens
from edgespec.costs import UNMEASURED, PassCosts, RowCosts
from edgespec.drafters import DrafterInputs, create
from edgespec.drafters.lookahead import SHAPES, LookaheadDrafter, Shape, shape_for
from edgespec.errors import UsageError
from edgespec.sampling import RequestSampler
from tests.unit.decode_loop import Banned

N_VOCAB = 50
FREE = PassCosts((1, 8, 9, 16, 17, 32, 33, 64), (1.0, 1.0, 1.0, 1.1, 1.1, 1.2, 1.2, 1.3))
SMALL = Shape(3, 3, 1)
INPUTS = DrafterInputs(N_VOCAB, lambda token: False, max_branches=16)


def said_after(token: int) -> int:
    return 10 + (token + 1) % 5


@dataclass
class Rows:
    """What a model of `said_after` gives for a draft."""

    draft: Draft
    n_decoded: int = 0

    def __len__(self) -> int:
        return len(self.draft) + 1

    def __getitem__(self, i: int) -> Row:
        raise AssertionError(i)

    def branch(self, b: int) -> Sequence[Row]:
        rows = []
        for token in self.draft.branches[b].tokens:
            row = np.zeros(N_VOCAB, np.float32)
            row[said_after(token)] = 5
            rows.append(row)
        return rows


def drafter(shape: Shape | None = SMALL, *, costs: RowCosts = UNMEASURED) -> LookaheadDrafter:
    inputs = DrafterInputs(N_VOCAB, lambda token: False, costs=costs, max_branches=16)
    return LookaheadDrafter(inputs, shape)


def sampler() -> RequestSampler:
    return RequestSampler(Sampling(), N_VOCAB)


def text(*tokens: int) -> Tokens:
    return np.array(tokens, np.int32)


@pytest.mark.parametrize("shape", SHAPES)
def test_draft_has_the_nodes_and_branches_of_its_shape(shape: Shape) -> None:
    one = drafter(shape)
    context = text(*range(1, 20), 1)

    draft = one.draft(context, 64, sampler())

    assert len(draft) == shape.width - 1
    assert draft.n_nodes <= shape.n_nodes
    assert len(draft.branches) <= shape.n_branches
    columns = draft.branches[-shape.width :]
    assert [branch.at - len(context) for branch in columns] == list(range(shape.width))
    assert {len(branch.tokens) for branch in columns} == {shape.n - 2}


def test_budget_below_the_shape_gives_no_draft() -> None:
    assert drafter(SMALL).draft(text(1, 2, 3), SMALL.n_nodes - 1, sampler()) == Draft()


def test_no_window_is_run_under_a_grammar() -> None:
    """It cuts most of what a window guesses; the pool goes on drafting."""
    context = text(1, 2, 3, 4, 1)
    sampling = RequestSampler(Sampling(), N_VOCAB, Banned(9))

    draft = drafter(SMALL).draft(context, SMALL.n_nodes, sampling)

    assert draft == Draft((2, 3, 4))


def test_gram_of_the_text_is_tried_where_it_begins_again() -> None:
    draft = drafter(SMALL).draft(text(9, 4, 5, 6, 4), 64, sampler())

    assert draft.branches[0].at == 5
    assert draft.branches[0].tokens == (5, 6)


def test_window_finds_grams_that_the_text_never_had() -> None:
    one, context = drafter(SMALL), text(1, 2, 3)
    tried = set()
    for _ in range(6):  # after 14, 10, 11, 12, 13: nothing was said twice yet
        draft = one.draft(context, 64, sampler())
        tried |= {branch.tokens for branch in draft.branches if branch.at == len(context)}
        context = np.append(context, np.int32(said_after(int(context[-1]))))
        one.learn(context, Rows(draft))

    right = {(said_after(a), said_after(said_after(a))) for a in range(10, 15)}
    assert tried & right


def test_other_context_starts_anew() -> None:
    one = drafter(SMALL)
    one.draft(text(9, 4, 5, 6, 4), 64, sampler())

    again = one.draft(text(7, 7, 4), 64, sampler())

    assert again == drafter(SMALL).draft(text(7, 7, 4), 64, sampler())


def test_window_never_holds_an_end_of_generation() -> None:
    end = said_after(said_after(2))
    inputs = DrafterInputs(N_VOCAB, lambda token: token == end, max_branches=16)
    one, context = LookaheadDrafter(inputs, SMALL), text(1, 2, 3)
    for _ in range(8):
        draft = one.draft(context, 64, sampler())
        context = np.append(context, np.int32(said_after(int(context[-1]))))
        one.learn(context, Rows(draft))

        columns = draft.branches[-SMALL.width :]
        assert all(end not in branch.tokens for branch in columns)


def test_model_without_branches_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="needs passes that branch"):
        create("lookahead", DrafterInputs(N_VOCAB, lambda token: False))


def test_shape_is_the_largest_that_is_cheap_enough() -> None:
    steps = PassCosts((1, 8, 9, 16, 17, 32), (1.0, 1.3, 1.4, 1.45, 2.0, 2.5))

    assert shape_for(FREE) == SHAPES[-1]
    assert shape_for(steps) == SHAPES[1]


def test_no_shape_pays_where_rows_are_dear() -> None:
    processor = PassCosts((1, 2, 4, 8, 16, 32), (1.0, 1.8, 2.4, 6.0, 7.9, 13.9))

    assert shape_for(processor) is None
    asked = drafter(None, costs=processor).draft(text(1, 2, 3, 1), 64, sampler())
    assert asked.n_nodes == SHAPES[0].n_nodes


def unheard(bucket: int, is_hit: bool) -> None:
    raise AssertionError("nothing is to be heard")


def test_fewer_nodes_than_a_window_are_the_pools_newest_gram() -> None:
    one = drafter(SMALL)

    assert one.draft(text(4, 5, 6, 7, 4, 8, 9, 1, 4), 6, sampler()) == Draft((8, 9, 1))
    assert one.draft(text(4, 5, 6, 7, 4, 8, 9, 1, 4), 2, sampler()) == Draft((8, 9))


def test_pool_says_nothing_before_a_window_was_run() -> None:
    context = text(4, 5, 6, 7, 4)
    silent, speaking = drafter(SMALL), LookaheadDrafter(INPUTS, SMALL, from_text=True)

    assert list(silent.outlook(context, unheard)) == []
    assert list(speaking.outlook(context, unheard)) == [0, 1, 2]


def test_pool_hears_what_became_of_its_gram_after_a_window_was_run() -> None:
    one, heard = drafter(SMALL), []
    one.draft(text(4, 5, 6, 7, 4), 64, sampler())

    list(one.outlook(text(4, 5, 6, 7, 4, 5, 9), lambda *seen: heard.append(seen)))

    assert heard == [(0, True), (1, False)]


def test_pool_hears_nothing_of_another_context() -> None:
    one = drafter(SMALL)
    one.draft(text(4, 5, 6, 7, 4), 64, sampler())

    assert list(one.outlook(text(1, 2, 3), unheard)) == []


def test_every_shape_is_offered_by_how_far_its_ways_came_true() -> None:
    one = drafter(None)
    rates = {one.name: [0.5] * len(one.buckets)}

    offers = list(one.offers(text(1, 2, 3), 20, rates, unheard))

    assert offers == [(7, 0.75), (13, 0.75)]
    assert list(one.offers(text(1, 2, 3), 63, rates, unheard))[-1] == (29, 0.875)


def test_asked_for_the_size_of_a_shape_it_drafts_that_shape() -> None:
    one = drafter(None, costs=FREE)
    context = text(*range(1, 20), 1)

    for shape in SHAPES:
        draft = one.draft(context, shape.n_nodes, sampler())
        assert len(draft) == shape.width - 1
        assert draft.n_nodes <= shape.n_nodes


def test_grams_of_a_longer_shape_do_not_make_a_smaller_one_larger() -> None:
    one = drafter(None)
    context = text(*([1, 2, 3, 4, 5] * 6))
    one.draft(context, SHAPES[-1].n_nodes, sampler())

    assert one.draft(context, SHAPES[0].n_nodes, sampler()).n_nodes <= SHAPES[0].n_nodes


def test_buckets_of_a_way_are_those_of_its_shape_and_no_two_shapes_share_them() -> None:
    one = drafter(None)

    ways = [list(one.way(shape.n_nodes, 9)) for shape in SHAPES]

    assert [len(way) for way in ways] == [shape.n - 1 for shape in SHAPES]
    numbers = [bucket for way in ways for bucket in way]
    assert numbers == list(range(3, len(one.buckets)))
    assert list(one.way(SHAPES[0].n_nodes, 1)) == ways[0][:1]
    assert list(one.way(5, 2)) == []


def test_gram_ends_with_the_generation() -> None:
    inputs = DrafterInputs(N_VOCAB, lambda token: token == 8, max_branches=16)

    draft = LookaheadDrafter(inputs, SMALL).draft(text(4, 8, 9, 1, 4), 64, sampler())

    assert draft.branches[0].tokens == (8,)
