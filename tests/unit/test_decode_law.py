"""p along a tree of drafts: each node has its own history and its own state of the grammar."""

from dataclasses import dataclass

import numpy as np
import pytest

from edgespec.core import Branch, Draft, Mask, Sampling, Tokens
from edgespec.decode_law import TargetLaw, legal
from edgespec.sampling import RequestSampler
from tests.fakes import NumpyLM, tokens_of

N_VOCAB = 8
CONTEXT = tokens_of(3, 1)
TREE = Draft((4, 5), branches=(Branch(2, (6, 7)), Branch(3, (2, 6))))
"""4 5, 6 7 and 4 2 6 after the context."""
WAYS = {0: (6, 7), 1: (4, 2, 6)}


@dataclass(frozen=True)
class Saying:
    """A grammar that allows these texts, and remembers what it has heard."""

    texts: tuple[tuple[int, ...], ...]
    heard: tuple[int, ...] = ()

    def allowed(self, ids: Tokens) -> Mask:
        n = len(self.heard)
        nexts = [text[n] for text in self.texts if text[:n] == self.heard and len(text) > n]
        return np.isin(ids, nexts)

    def advanced(self, token: int) -> "Saying":
        return Saying(self.texts, (*self.heard, token))


def law(sampling: Sampling, grammar: Saying | None = None) -> TargetLaw:
    sampler = RequestSampler(sampling, N_VOCAB, grammar)
    tokens = np.concatenate((CONTEXT, tokens_of(*TREE.tokens)))
    rows = NumpyLM(N_VOCAB).forward(tokens, n_logits=len(TREE) + 1, branches=TREE.branches)
    return TargetLaw(rows, TREE, tokens, len(CONTEXT), sampler)


@pytest.mark.parametrize(("branch", "depth"), [(0, 1), (0, 2), (1, 1), (1, 2)])
def test_law_in_a_branch_is_shaped_by_the_way_to_it(branch: int, depth: int) -> None:
    params = Sampling(1.0, repeat_penalty=5.0)
    along = WAYS[branch][: TREE.branches[branch].at - len(CONTEXT) + depth]
    history = np.concatenate((CONTEXT, tokens_of(*along)))

    p = law(params).after(branch, depth)

    row = NumpyLM(N_VOCAB).row(history)
    expected = RequestSampler(params, N_VOCAB).dist(row, history)
    np.testing.assert_array_equal(p.ids, expected.ids)
    np.testing.assert_array_equal(p.probs, expected.probs)


@pytest.mark.parametrize(("branch", "depth", "token"), [(0, 1, 0), (0, 2, 1), (1, 1, 2), (1, 2, 3)])
def test_law_in_a_branch_obeys_the_grammar_after_the_way_to_it(
    branch: int, depth: int, token: int
) -> None:
    along = WAYS[branch][: TREE.branches[branch].at - len(CONTEXT) + depth]
    others = ((4, 5, 4), (6, 7, 5), (4, 2, 6, 7), (0, 0, 0, 0))
    grammar = Saying((*(text for text in others if text[: len(along)] != along), (*along, token)))

    p = law(Sampling(1.0), grammar).after(branch, depth)

    assert p.prob(token) == 1


@pytest.mark.parametrize(
    ("texts", "trunk", "branches"),
    [
        (((4, 5), (6, 7), (4, 2, 6)), (4, 5), TREE.branches),
        (((4, 5), (4, 2, 0)), (4, 5), (Branch(3, (2,)),)),
        (((6, 7), (4, 2, 6)), (4,), TREE.branches),
        (((6, 0),), (), (Branch(2, (6,)),)),
        (((0,),), (), ()),
    ],
)
def test_grammar_cuts_every_way_before_the_first_token_that_it_forbids(
    texts: tuple[tuple[int, ...], ...], trunk: tuple[int, ...], branches: tuple[Branch, ...]
) -> None:
    kept = legal(TREE, Saying(texts), len(CONTEXT))

    assert (kept.tokens, kept.branches) == (trunk, branches)
