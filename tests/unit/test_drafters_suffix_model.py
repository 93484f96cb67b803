from edgespec.core import Draft, Mask, Sampling, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.suffix_model import SuffixModelDrafter
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import NumpyLM, tokens_of

N_VOCAB = 50


def suffix_model(lm: NumpyLM) -> SuffixModelDrafter:
    return SuffixModelDrafter(DrafterInputs(N_VOCAB, lambda token: False, lm))


def draft_of(drafter: SuffixModelDrafter, context: list[int]) -> Draft:
    return drafter.draft(tokens_of(*context), 4, RequestSampler(Sampling(), N_VOCAB))


def test_retrieval_drafts_when_it_is_likely_right_and_the_model_stays_idle() -> None:
    lm = NumpyLM(N_VOCAB, scale=60.0)

    draft = draft_of(suffix_model(lm), [*range(20), 40, *range(9)])

    assert draft.tokens == (9, 10, 11, 12)
    assert draft.match == 9
    assert lm.n_decoded == 0


def test_model_drafts_when_nothing_repeats() -> None:
    lm = NumpyLM(N_VOCAB, scale=60.0)

    draft = draft_of(suffix_model(lm), [1, 2, 3])

    assert list(draft.tokens) == lm.greedy([1, 2, 3], 4)
    assert draft.match == 0


def test_model_drafts_when_the_text_forks() -> None:
    lm = NumpyLM(N_VOCAB, scale=60.0)
    misleading = [1, 2, 1, 3, 1]

    draft = draft_of(suffix_model(lm), misleading)

    assert list(draft.tokens) == lm.greedy(misleading, 4)


def test_model_drafts_when_the_grammar_forbids_the_copy() -> None:
    lm = NumpyLM(N_VOCAB, scale=60.0)
    matching = tokens_of(*range(20), 40, *range(9))  # goes on with 9

    draft = suffix_model(lm).draft(matching, 4, RequestSampler(Sampling(), N_VOCAB, Even()))

    assert draft.match == 0
    assert lm.n_decoded > 0
    assert all(token % 2 == 0 for token in draft.tokens)


class Even:
    """A grammar of even tokens."""

    def allowed(self, ids: Tokens) -> Mask:
        mask: Mask = ids % 2 == 0
        return mask

    def advanced(self, token: int) -> "Even":
        return self


def test_retrieval_steps_in_when_the_model_is_silent() -> None:
    lm = NumpyLM(N_VOCAB, faults=range(100))
    truthful = [1, 2, 10, 1, 2, 11, 1, 2, 12, 1]

    draft = draft_of(suffix_model(lm), truthful)

    assert draft.tokens[:1] == (2,)


def test_note_of_the_model_is_passed_on() -> None:
    drafter = suffix_model(NumpyLM(N_VOCAB, faults=range(100)))

    for _ in range(3):
        draft_of(drafter, [1, 2, 3])

    assert "failed" in drafter.note
