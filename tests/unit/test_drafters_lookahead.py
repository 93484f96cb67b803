"""Lookahead's window and pool on a language whose next token follows from the last one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from edgespec.core import Draft, Row, Sampling, Tokens
from edgespec.costs import PassCosts
from edgespec.drafters import DrafterInputs, create
from edgespec.drafters.lookahead import SHAPES, LookaheadDrafter, Shape, shape_for
from edgespec.errors import UsageError
from edgespec.sampling import RequestSampler

N_VOCAB = 50
FREE = PassCosts((1, 8, 9, 16, 17, 32, 33, 64), (1.0, 1.0, 1.0, 1.1, 1.1, 1.2, 1.2, 1.3))
SMALL = Shape(3, 3, 1)


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


def drafter(shape: Shape | None = SMALL, *, max_branches: int = 16, **more) -> LookaheadDrafter:
    inputs = DrafterInputs(N_VOCAB, lambda token: False, max_branches=max_branches, **more)
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
