from edgespec.core import Draft, Sampling
from edgespec.drafters import DrafterInputs
from edgespec.drafters.suffix_model import SuffixModelDrafter
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import NumpyLM, tokens_of

N_VOCAB = 50


def suffix_model(lm: NumpyLM) -> SuffixModelDrafter:
    return SuffixModelDrafter(DrafterInputs(N_VOCAB, lambda token: False, lm))


def draft_of(drafter: SuffixModelDrafter, context: list[int]) -> Draft:
    return drafter.draft(tokens_of(*context), 4, RequestSampler(Sampling(), N_VOCAB))


def test_retrieval_drafts_when_two_tokens_match_and_the_model_stays_idle() -> None:
    lm = NumpyLM(N_VOCAB, scale=60.0)

    draft = draft_of(suffix_model(lm), [1, 2, 3, 4, 5, 9, 1, 2])

    assert draft.tokens == (3, 4, 5)
    assert draft.match == 2
    assert lm.n_decoded == 0


def test_model_drafts_when_nothing_repeats() -> None:
    lm = NumpyLM(N_VOCAB, scale=60.0)

    draft = draft_of(suffix_model(lm), [1, 2, 3])

    assert list(draft.tokens) == lm.greedy([1, 2, 3], 4)
    assert draft.match == 0


def test_model_drafts_when_only_one_token_matches() -> None:
    lm = NumpyLM(N_VOCAB, scale=60.0)
    truthful = [1, 2, 10, 1, 2, 11, 1, 2, 12, 1]

    draft = draft_of(suffix_model(lm), truthful)

    assert list(draft.tokens) == lm.greedy(truthful, 4)


def test_retrieval_steps_in_when_the_model_is_silent() -> None:
    lm = NumpyLM(N_VOCAB, faults=range(100))
    truthful = [1, 2, 10, 1, 2, 11, 1, 2, 12, 1]

    draft = draft_of(suffix_model(lm), truthful)

    assert draft.tokens == (2, 12, 1)


def test_note_of_the_model_is_passed_on() -> None:
    drafter = suffix_model(NumpyLM(N_VOCAB, faults=range(100)))

    for _ in range(3):
        draft_of(drafter, [1, 2, 3])

    assert "failed" in drafter.note
