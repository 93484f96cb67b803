import math
from collections.abc import Sequence

import numpy as np
import pytest

from edgespec.core import Branch, Tokens
from edgespec.equality import explained, first_difference
from tests.fakes import FakeLogits, NumpyLM, tokens_of

PROMPT = tokens_of(*range(1, 9))


class RoundingLM(NumpyLM):
    """Passes of many rows give logits that are off by `error` at one token."""

    error = 0.0
    token = 5

    def forward(
        self, tokens: Tokens, *, n_logits: int, branches: Sequence[Branch] = ()
    ) -> FakeLogits:
        exact = super().forward(tokens, n_logits=n_logits, branches=branches)
        rows = [exact[i].copy() for i in range(len(exact))]
        if n_logits > 1:
            for row in rows:
                row[self.token] += np.float32(self.error)
        return FakeLogits(rows, [], exact.n_decoded)


@pytest.mark.parametrize(
    ("plain", "other", "at"),
    [((1, 2), (1, 2), None), ((1, 2), (1, 3), 1), ((1,), (1, 2), 1), ((1, 2), (), 0)],
)
def test_first_difference(plain: tuple[int, ...], other: tuple[int, ...], at: int | None) -> None:
    assert first_difference(plain, other) == at


def test_equal_answers_need_no_explanation() -> None:
    assert explained(NumpyLM(n_vocab=16), PROMPT, (1, 2), (1, 2)) is None


def test_exact_model_has_no_near_ties() -> None:
    session = NumpyLM(n_vocab=16, max_logits=32)
    (best,) = session.greedy(PROMPT, 1)
    other = (best + 1) % 16

    found = explained(session, PROMPT, (best,), (other,))

    assert found is not None
    assert (found.at, found.plain, found.other, found.deviation) == (0, best, other, 0.0)
    assert found.gap > 0
    assert not found.is_near_tie


@pytest.mark.parametrize(("error", "is_near_tie"), [(0.001, False), (50.0, True)])
def test_near_tie_is_a_gap_below_the_deviation_of_one_row_and_many(
    error: float, is_near_tie: bool
) -> None:
    session = RoundingLM(n_vocab=16, max_logits=32)
    session.error = error
    plain = tuple(session.greedy(PROMPT, 3))

    found = explained(session, PROMPT, plain, (*plain[:2], (plain[2] + 1) % 16))

    assert found is not None
    assert found.at == 2
    assert found.deviation == pytest.approx(error, abs=1e-4)
    assert found.is_near_tie == is_near_tie


def test_answer_that_ends_early_is_never_a_near_tie() -> None:
    found = explained(NumpyLM(n_vocab=16), PROMPT, (1, 2), (1,))

    assert found is not None
    assert (found.at, found.plain, found.other) == (1, 2, None)
    assert found.gap == math.inf
    assert not found.is_near_tie
