import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from edgespec.control import Fixed
from edgespec.core import Dist, Draft, Mask, Row, Sampling, Tokens
from edgespec.decode import Request, speculate
from edgespec.drafters import DrafterInputs
from edgespec.drafters.model import ModelDrafter, top_probability
from edgespec.drafters.reading import WINDOW
from edgespec.drafters.record import Record
from edgespec.drafters.translation import fitted
from edgespec.events import Step
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import NumpyLM, tokens_of

N_VOCAB = 8
GREEDY = Sampling()
SAMPLER = RequestSampler(GREEDY, N_VOCAB)
PROMPT = [1, 2, 3, 4, 5]


def sure_lm(*, n_ctx: int = 1024, faults: Sequence[int] = ()) -> NumpyLM:
    """A model that is always sure of its next token."""
    return NumpyLM(N_VOCAB, scale=60.0, n_ctx=n_ctx, faults=faults)


def model_drafter(lm: NumpyLM, eog: int = -1, n_vocab: int = N_VOCAB) -> ModelDrafter:
    return ModelDrafter(DrafterInputs(n_vocab, lambda token: token == eog, lm))


def draft_of(
    drafter: ModelDrafter, context: list[int], k: int = 4, params: Sampling = GREEDY
) -> Draft:
    """Of one request when greedy, of a request of its own otherwise."""
    sampler = SAMPLER if params is GREEDY else RequestSampler(params, N_VOCAB)
    return drafter.draft(tokens_of(*context), k, sampler)


def long_text(n: int) -> list[int]:
    rng = np.random.default_rng(5)
    return [int(token) for token in rng.integers(0, N_VOCAB, n)]


def test_draft_is_what_the_draft_model_would_say() -> None:
    lm = sure_lm()

    draft = draft_of(model_drafter(lm), PROMPT)

    assert list(draft.tokens) == lm.greedy(PROMPT, 4)


class Steered:
    """Steers by a script, and writes down how sure the model was."""

    def __init__(self, *, least: float = 0.0, most: int = 99, keep: int = 99) -> None:
        self.seen: list[float] = []
        self._least, self._most, self._keep = least, most, keep

    def asks(self) -> bool:
        return len(self.seen) < self._most

    def draws(self, confidence: float) -> bool:
        self.seen.append(confidence)
        return confidence >= self._least

    def kept(self, n_drawn: int) -> int:
        return min(n_drawn, self._keep)


def test_draft_has_the_length_that_was_set_however_unsure_the_model_is() -> None:
    lm = NumpyLM(N_VOCAB, scale=0.1)

    assert len(draft_of(model_drafter(lm), PROMPT, k=6)) == 6


def test_steered_draft_stops_before_the_first_token_that_is_not_wanted() -> None:
    lm = sure_lm()
    sure = lm.greedy(PROMPT, 2)
    lm._rows[tuple([*PROMPT, *sure][-3:])] = np.zeros(N_VOCAB, np.float32)
    steering = Steered(least=0.5)

    draft = model_drafter(lm).draft_while(tokens_of(*PROMPT), 4, SAMPLER, steering)

    assert list(draft.tokens) == sure
    assert steering.seen[:2] == pytest.approx([1, 1], abs=0.01)
    assert steering.seen[2] == pytest.approx(1 / N_VOCAB)


def test_steered_draft_makes_no_pass_that_is_not_asked_for() -> None:
    lm = sure_lm()
    drafter = model_drafter(lm)

    draft = drafter.draft_while(tokens_of(*PROMPT), 4, SAMPLER, Steered(most=2))

    assert len(draft) == 2
    assert lm.n_calls == 3  # the prompt, and a pass for each token


def test_guessed_draft_is_cut_and_a_sampled_one_is_not() -> None:
    """A token that was drawn and dropped would change the output's law."""
    sampler = RequestSampler(Sampling(temperature=2.0, seed=3), N_VOCAB)
    context, steering = tokens_of(*PROMPT), Steered(keep=1)

    guessed = model_drafter(sure_lm()).draft_while(context, 4, SAMPLER, steering)
    sampled = model_drafter(NumpyLM(N_VOCAB)).draft_while(context, 4, sampler, steering)

    assert (len(guessed), len(sampled)) == (1, 4)
    assert len(sampled.dists) == 4


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


def test_length_of_a_sampled_draft_ignores_the_token_that_is_drawn_last() -> None:
    lm = NumpyLM(N_VOCAB, scale=1.5, order=1)
    row = np.log(np.array([0.5, 0.3, 0.2, *[1e-9] * 5])).astype(np.float32)
    lm._rows[(5,)] = row

    firsts = [
        draft_of(model_drafter(lm), PROMPT, 1, Sampling(temperature=1.0, seed=seed)).tokens
        for seed in range(400)
    ]

    counts = [firsts.count((token,)) for token in range(3)]
    assert sum(counts) == 400
    # 5 sigma of the binomial with 400 draws: false alarm below 1e-5.
    assert np.all(np.abs(np.array(counts) - [200, 120, 80]) < 50)


def test_sampled_draft_keeps_the_distributions_it_drew_from() -> None:
    lm, warm = NumpyLM(N_VOCAB, scale=3.0), Sampling(temperature=0.8, top_k=4, seed=11)

    draft = draft_of(model_drafter(lm), PROMPT, 3, warm)

    assert len(draft.dists) == len(draft) > 0
    for i, q in enumerate(draft.dists):
        history = tokens_of(*PROMPT, *draft.tokens[:i])
        expected = RequestSampler(warm, N_VOCAB).dist(lm.row(history.tolist()), history)
        assert np.array_equal(q.ids, expected.ids)
        assert np.array_equal(q.probs, expected.probs)


def test_penalties_see_the_tokens_drafted_so_far() -> None:
    lm = sure_lm()
    lm._rows = {(5,): _row(3), (3,): _row(3, 4)}
    lm._order = 1
    once = Sampling(presence_penalty=50.0)

    draft = draft_of(model_drafter(lm), [5], 2, once)

    assert draft.tokens[:2] == (3, 4)


def _row(*best_first: int) -> Row:
    row = np.full(N_VOCAB, -100.0, np.float32)
    row[list(best_first)] = [10 - 0.1 * i for i in range(len(best_first))]
    return row


def test_draft_ends_with_the_end_of_generation() -> None:
    lm = sure_lm()
    said = lm.greedy(PROMPT, 6)
    eog = said[2]

    draft = draft_of(model_drafter(lm, eog), PROMPT, 6)

    assert list(draft.tokens) == said[: said.index(eog) + 1]


def test_accepted_draft_is_not_decoded_again() -> None:
    lm = sure_lm()
    drafter = model_drafter(lm)
    draft = draft_of(drafter, PROMPT)
    before = lm.n_decoded

    draft_of(drafter, [*PROMPT, *draft.tokens, 0])

    # The last draft token was never fed, the target's own token is new, then 3 more to draft 4.
    assert lm.n_decoded - before == 2 + 3


def test_refused_draft_costs_only_the_new_token() -> None:
    lm = sure_lm()
    drafter = model_drafter(lm)
    refused = draft_of(drafter, PROMPT).tokens[0]
    before = lm.n_decoded

    draft_of(drafter, [*PROMPT, (refused + 1) % N_VOCAB])

    assert lm.n_decoded - before == 1 + 3


def test_draft_never_holds_ids_beyond_the_targets_vocabulary() -> None:
    lm = NumpyLM(N_VOCAB + 4, scale=8.0)
    drafter = model_drafter(lm)
    warm = Sampling(temperature=2.0, seed=1)

    drafted = [token for n in range(1, 40) for token in draft_of(drafter, [0] * n, 4, warm).tokens]

    assert drafted
    assert max(drafted) < N_VOCAB


def test_row_of_a_smaller_vocabulary_is_filled_with_impossible_tokens() -> None:
    row = np.zeros(3, np.float32)

    assert fitted(row, 5).tolist() == [0, 0, 0, -np.inf, -np.inf]


def test_top_probability_of_a_point_mass_is_its_share_of_the_row() -> None:
    row = np.log(np.array([0.5, 0.25, 0.25])).astype(np.float32)

    assert top_probability(row, Dist.point(0)) == pytest.approx(0.5)
    assert top_probability(row, Dist.point(1)) == pytest.approx(0.25)


def test_top_probability_under_a_grammar_is_the_share_of_what_it_allows() -> None:
    """A forced token is certain, however unlikely it is by itself."""
    row = np.log(np.array([0.7, 0.25, 0.04, 0.01], np.float32))

    assert top_probability(row, Dist.point(3), _Allowing({3})) == pytest.approx(1)
    assert top_probability(row, Dist.point(2), _Allowing({2, 3})) == pytest.approx(0.8)


@dataclass(frozen=True)
class _Allowing:
    """A grammar that always allows the same tokens."""

    tokens: set[int]

    def allowed(self, ids: Tokens) -> Mask:
        return np.isin(ids, list(self.tokens))

    def advanced(self, token: int) -> "_Allowing":
        return self


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

    def row(self, tokens: Sequence[int]) -> Row:
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
