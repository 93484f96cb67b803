"""When a draft model is given up: failures, and drafts that nobody accepts."""

import logging
from collections.abc import Sequence

import numpy as np
import pytest

from edgespec.control import Fixed
from edgespec.core import Draft, Row, Tokens
from edgespec.decode import Request, speculate
from edgespec.drafters.model import ModelDrafter
from edgespec.drafters.record import Record
from edgespec.events import Step
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import NumpyLM, tokens_of
from tests.unit.drafting_model import GREEDY, N_VOCAB, PROMPT, draft_of, model_drafter, sure_lm


def test_accepted_draft_is_not_decoded_again() -> None:
    lm = sure_lm()
    drafter = model_drafter(lm)
    draft = draft_of(drafter, PROMPT)
    before = lm.n_decoded

    draft_of(drafter, [*PROMPT, *draft.tokens, 0])

    # The last draft token was never fed, the target's own token is new, then 3 more to draft 4.
    assert lm.n_decoded - before == 2 + 3


def test_draft_keeps_what_was_drawn_when_a_decode_fails(caplog: pytest.LogCaptureFixture) -> None:
    lm = sure_lm(faults=(3,))
    drafter = model_drafter(lm)

    with caplog.at_level(logging.ERROR):
        draft = draft_of(drafter, PROMPT)

    assert list(draft.tokens) == lm.greedy(PROMPT, 2)
    assert drafter.note == ""


def test_drafter_works_again_after_a_failed_decode() -> None:
    lm = sure_lm(faults=(0,))
    drafter = model_drafter(lm)
    draft_of(drafter, PROMPT)

    draft = draft_of(drafter, PROMPT)

    assert list(draft.tokens) == lm.greedy(PROMPT, 4)


def test_drafter_forgives_failures_that_are_not_in_a_row() -> None:
    lm = sure_lm(faults=(0, 1, 7, 8, 13, 14))
    drafter = model_drafter(lm)

    drafted = [len(draft_of(drafter, PROMPT)) for _ in range(9)]

    assert drafted == [0, 0, 4, 0, 0, 4, 0, 0, 4]
    assert drafter.note == ""


class ShuffledLM(NumpyLM):
    """As sure of itself as the other, and never right."""

    def row(self, tokens: Sequence[int] | Tokens) -> Row:
        return np.roll(super().row(tokens), 1)


def answered(drafter: ModelDrafter, n_tokens: int) -> list[Step]:
    """The steps of a greedy answer by a sure target."""
    request = Request(
        prompt=tokens_of(*PROMPT),
        sampler=RequestSampler(GREEDY, N_VOCAB),
        max_tokens=n_tokens,
        ends=lambda token, source: False,
        is_eog=lambda token: False,
        is_cancelled=lambda: False,
    )
    return list(speculate(sure_lm(), {"model": drafter}, Fixed("model", 4), request))


def test_drafter_gives_up_when_the_target_accepts_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lm = ShuffledLM(N_VOCAB, scale=60.0)
    drafter = model_drafter(lm)

    steps = answered(drafter, 60)
    n_decoded = lm.n_decoded
    later = answered(drafter, 20)

    assert [token for step in steps for token in step.tokens] == sure_lm().greedy(PROMPT, 60)
    assert sum(step.drafted for step in steps) == 100
    assert sum(step.drafted for step in later) == 0
    assert lm.n_decoded == n_decoded
    assert "accepted 0 of the draft model's last 100 tokens" in drafter.note
    assert len(caplog.records) == 1


def test_drafter_goes_on_while_one_token_in_ten_is_accepted() -> None:
    record = Record()

    for _ in range(20):
        record.add((1, 2, 3, 4, 5, 6, 7, 8, 9, 10), (1, 0))
    is_sound = not record.verdict
    record.add((1,) * 10, (0,))

    assert is_sound
    assert "accepted 9 of" in record.verdict


def test_drafter_is_not_judged_by_a_few_tokens() -> None:
    record = Record()

    record.add((1,) * 99, (0,))

    assert record.verdict == ""


def test_drafter_that_agrees_keeps_drafting() -> None:
    drafter = model_drafter(sure_lm())

    steps = answered(drafter, 400)

    assert drafter.note == ""
    assert all(step.drafted for step in steps[:-1])


def test_draft_of_a_request_that_ended_is_not_judged() -> None:
    """What another request says next tells nothing about it."""
    drafter = model_drafter(sure_lm())

    for n in range(60):
        sampler = RequestSampler(GREEDY, N_VOCAB)
        drafter.draft(tokens_of(*PROMPT, *[0] * n), 4, sampler)

    assert drafter.note == ""


def test_drafter_gives_up_with_a_note_when_decodes_keep_failing() -> None:
    lm = sure_lm(faults=range(100))
    drafter = model_drafter(lm)

    drafts = [draft_of(drafter, PROMPT) for _ in range(10)]

    assert drafts == [Draft()] * 10
    assert "failed 3 times in a row" in drafter.note
    assert lm.n_calls == 3
