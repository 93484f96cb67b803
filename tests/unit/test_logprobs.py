"""Log-probabilities of emitted tokens, against numbers worked out by hand."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from edgespec.core import Row
from edgespec.logprobs import logprobs


def rows(*values: Sequence[float]) -> list[Row]:
    return [np.array(row, np.float32) for row in values]


def test_logprobs_are_the_logarithms_of_the_softmax() -> None:
    weights = (1.0, 2.0, 5.0)

    (found,) = logprobs(rows([math.log(w) for w in weights]), (1,), 0)

    assert found.token == 1
    assert found.logprob == pytest.approx(math.log(2 / 8), abs=1e-6)
    assert found.top == ()


def test_logprobs_name_the_likeliest_tokens_best_first() -> None:
    (found,) = logprobs(rows([0.0, 3.0, 1.0, 2.0]), (0,), 3)

    assert [rival.token for rival in found.top] == [1, 3, 2]
    assert found.top[0].logprob > found.top[1].logprob > found.top[2].logprob > found.logprob


def test_logprobs_give_ties_to_the_lower_ids() -> None:
    (found,) = logprobs(rows([1.0, 1.0, 1.0, 0.0]), (3,), 2)

    assert [rival.token for rival in found.top] == [0, 1]


def test_logprobs_name_the_whole_vocabulary_when_more_are_asked_for() -> None:
    (found,) = logprobs(rows([0.0, 1.0]), (0,), 9)

    assert [rival.token for rival in found.top] == [1, 0]
    assert sum(math.exp(rival.logprob) for rival in found.top) == pytest.approx(1)


def test_logprobs_are_minus_infinity_for_an_impossible_token() -> None:
    (found,) = logprobs(rows([0.0, -math.inf]), (1,), 0)

    assert found.logprob == -math.inf


def test_logprobs_survive_logits_that_overflow_an_exponential() -> None:
    (found,) = logprobs(rows([1e4, 1e4]), (0,), 0)

    assert found.logprob == pytest.approx(math.log(0.5))


def test_logprobs_take_each_token_from_the_row_that_decided_it() -> None:
    found = logprobs(rows([5.0, 0.0], [0.0, 5.0], [0.0, 0.0]), (0, 1), 0)

    assert [one.token for one in found] == [0, 1]
    assert found[0].logprob == found[1].logprob
