"""What a draft model has to read before it can draft."""

import numpy as np
import pytest

from edgespec.drafters import DrafterInputs
from edgespec.drafters.model import ModelDrafter
from edgespec.drafters.reading import WINDOW
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import tokens_of
from tests.unit.drafting_model import (
    GREEDY,
    N_VOCAB,
    PROMPT,
    SAMPLER,
    draft_of,
    model_drafter,
    sure_lm,
)


def long_text(n: int) -> list[int]:
    rng = np.random.default_rng(5)
    return [int(token) for token in rng.integers(0, N_VOCAB, n)]


def test_unread_context_shrinks_as_it_is_read() -> None:
    lm = sure_lm()
    drafter = model_drafter(lm)
    context = tokens_of(*long_text(300))

    unread = [drafter.unread(context)]
    for _ in range(3):
        drafter.read(context, 128, SAMPLER)
        unread.append(drafter.unread(context))

    assert unread == [299, 171, 43, 0]
    assert lm.n_decoded == 299


def test_what_is_resident_counts_as_read_where_costs_are_measured() -> None:
    lm = sure_lm()
    inputs = DrafterInputs(N_VOCAB, lambda token: False, lm, counts_resident=True)
    text = long_text(300)
    first = ModelDrafter(inputs)
    first.read(tokens_of(*text), 200, SAMPLER)

    assert ModelDrafter(inputs).unread(tokens_of(*text)) == 99


def test_long_context_is_read_in_slices_over_steps_without_drafts() -> None:
    lm, context = sure_lm(), long_text(300)
    drafter = model_drafter(lm)

    steps = [len(draft_of(drafter, context + [0] * n)) for n in range(4)]
    first_reads = lm.n_decoded

    assert steps == [0, 0, 4, 4]
    assert first_reads < 300 + 4 * 8


def test_only_a_window_of_a_very_long_context_is_read() -> None:
    lm, context = sure_lm(n_ctx=4096), long_text(3000)
    drafter = model_drafter(lm)

    drafts = [draft_of(drafter, context) for _ in range(8)]

    assert list(drafts[-1].tokens) == lm.greedy(context, 4)
    assert lm.n_decoded < 2 * WINDOW + 8 * 8


def test_long_new_turn_is_read_from_a_window_back() -> None:
    lm, context = sure_lm(n_ctx=4096), long_text(3000)
    drafter = model_drafter(lm)
    draft_of(drafter, context[:100])

    drafts = [draft_of(drafter, context) for _ in range(8)]

    assert list(drafts[-1].tokens) == lm.greedy(context, 4)
    assert lm.n_decoded < 100 + 2 * WINDOW + 9 * 8


def test_request_is_drafted_for_alike_whatever_is_resident() -> None:
    """Lengths decide in which step the model has read enough; else a seed would not decide."""
    drafter, context = model_drafter(sure_lm()), long_text(400)

    cold, warm = (drafted_by(drafter, context) for _ in range(2))
    draft_of(drafter, PROMPT)
    after_another = drafted_by(drafter, context)

    assert [len(tokens) for tokens in cold[:4]] == [0, 0, 0, 4]
    assert cold == warm == after_another


def test_repeated_request_reads_nothing_anew() -> None:
    lm = sure_lm()
    drafter, context = model_drafter(lm), long_text(400)
    drafted_by(drafter, context)
    before = lm.n_decoded

    drafted_by(drafter, context)

    assert lm.n_decoded - before < 8 * 6


def test_next_turn_reads_only_what_is_new() -> None:
    lm = sure_lm(n_ctx=4096)
    drafter, context = model_drafter(lm), long_text(1200)
    for _ in range(6):
        drafted_by(drafter, context)
    before = lm.n_decoded

    drafted_by(drafter, [*context, *long_text(100)])

    assert lm.n_decoded - before < 100 + 8 * 6


def drafted_by(drafter: ModelDrafter, context: list[int]) -> list[tuple[int, ...]]:
    """The drafts of a request's first 8 steps, each of which commits one token."""
    sampler = RequestSampler(GREEDY, N_VOCAB)
    return [drafter.draft(tokens_of(*context, *[0] * n), 4, sampler).tokens for n in range(8)]


def test_nothing_is_read_when_k_is_0() -> None:
    lm = sure_lm()

    draft_of(model_drafter(lm), long_text(300), k=0)

    assert lm.n_decoded == 0


def test_draft_goes_on_beyond_the_draft_models_own_context() -> None:
    lm = sure_lm(n_ctx=64)
    drafter = model_drafter(lm)
    context = long_text(20)

    drafted = 0
    for _ in range(60):
        draft = draft_of(drafter, context)
        drafted += len(draft)
        assert list(draft.tokens) == lm.greedy(context, len(draft))
        context = [*context, *lm.greedy(context, 5)]

    assert drafted == 4 * 60
    assert lm.n_decoded < 3 * len(context)


@pytest.mark.parametrize("n_ctx", [8, 12, 16])
def test_draft_ends_where_the_draft_models_context_does(n_ctx: int) -> None:
    """The model itself takes no more tokens than that."""
    drafter = model_drafter(sure_lm(n_ctx=n_ctx))

    drafted = [len(draft_of(drafter, long_text(n), k=31)) for n in range(1, 40)]

    assert sum(drafted) > 20
    assert max(drafted) <= n_ctx


def test_window_begins_with_the_first_token_of_the_context() -> None:
    lm = sure_lm(n_ctx=64)
    context = [7, *long_text(200)]

    draft = draft_of(model_drafter(lm), context)

    window = lm._resident[1 : 1 - len(draft)]  # its last token was not fed
    assert lm._resident[0] == 7
    assert window == context[-len(window) :]
    assert 21 <= len(window) < 42


def test_other_short_conversation_is_read_from_its_start_after_a_long_one() -> None:
    lm = sure_lm(n_ctx=64)
    drafter = model_drafter(lm)
    draft_of(drafter, long_text(200))

    draft_of(drafter, PROMPT * 3)

    assert lm._resident[:15] == PROMPT * 3
