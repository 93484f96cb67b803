from dataclasses import dataclass

import numpy as np
import pytest

from edgespec.core import Dist, Mask, Row, Sampling, Tokens
from edgespec.drafters.model import top_probability
from edgespec.drafters.translation import fitted
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import NumpyLM, tokens_of
from tests.unit.drafting_model import N_VOCAB, PROMPT, SAMPLER, draft_of, model_drafter, sure_lm


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
