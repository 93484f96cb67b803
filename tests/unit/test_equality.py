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
    token = 0

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
    best, other = (int(token) for token in np.argsort(-session.row(PROMPT.tolist()))[:2])

    found = explained(session, PROMPT, (best,), (other,))

    assert found is not None
    assert (found.at, found.plain, found.other, found.deviation) == (0, best, other, 0.0)
    assert found.gap > 0
    assert not found.is_near_tie


@pytest.mark.parametrize(("error", "is_near_tie"), [(0.001, False), (50.0, True)])
def test_near_tie_is_a_gap_below_the_deviation_of_one_row_and_many(
    error: float, is_near_tie: bool
) -> None:
    session, plain, ranked = rounding(error)
    session.token = ranked[1]

    found = explained(session, PROMPT, plain, (*plain[:2], ranked[1]))

    assert found is not None
    assert found.at == 2
    assert found.deviation == pytest.approx(error, abs=1e-4)
    assert found.is_near_tie == is_near_tie


def test_third_token_is_no_near_tie_however_much_rounding_moves_it() -> None:
    session, plain, ranked = rounding(50.0)
    session.token = ranked[2]

    found = explained(session, PROMPT, plain, (*plain[:2], ranked[2]))

    assert found is not None
    assert found.gap < found.deviation == pytest.approx(50.0)
    assert not found.are_best
    assert not found.is_near_tie


def test_deviation_of_a_third_token_makes_no_near_tie() -> None:
    session, plain, ranked = rounding(50.0)
    session.token = ranked[2]

    found = explained(session, PROMPT, plain, (*plain[:2], ranked[1]))

    assert found is not None
    assert found.are_best
    assert found.deviation == 0.0
    assert not found.is_near_tie


def test_third_token_above_two_equal_ones_makes_no_near_tie() -> None:
    session, plain, ranked = rounding(0.0)
    row = session.row([*PROMPT, *plain[:2]])
    row[ranked[2]] = row[ranked[1]]
    session._rows[tuple([*PROMPT.tolist(), *plain[:2]][-3:])] = row

    found = explained(session, PROMPT, (*plain[:2], ranked[1]), (*plain[:2], ranked[2]))

    assert found is not None
    assert found.gap == 0.0
    assert not found.is_near_tie


def rounding(error: float) -> tuple[RoundingLM, tuple[int, ...], list[int]]:
    """A model that rounds, its answer, and the candidates for its third token, best first."""
    session = RoundingLM(n_vocab=16, max_logits=32)
    session.error = error
    plain = tuple(session.greedy(PROMPT.tolist(), 3))
    row = session.row([*PROMPT, *plain[:2]])
    return session, plain, [int(token) for token in np.argsort(-row)]


def test_answer_that_ends_early_is_never_a_near_tie() -> None:
    found = explained(NumpyLM(n_vocab=16), PROMPT, (1, 2), (1,))

    assert found is not None
    assert (found.at, found.plain, found.other) == (1, 2, None)
    assert found.gap == math.inf
    assert not found.is_near_tie
