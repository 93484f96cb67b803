import numpy as np

from edgespec.core import Draft, Mask, Sampling, Tokens
from edgespec.costs import UNMEASURED, PassCosts
from edgespec.drafters import DrafterInputs
from edgespec.drafters.suffix import SuffixDrafter, continuation
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import tokens_of

N_VOCAB = 1000
EOG = 999


def suffix_drafter(costs: PassCosts = UNMEASURED) -> SuffixDrafter:
    return SuffixDrafter(DrafterInputs(N_VOCAB, lambda token: token == EOG, costs=costs))


def draft_of(drafter: SuffixDrafter, context: list[int], k: int = 31) -> Draft:
    return drafter.draft(tokens_of(*context), k, RequestSampler(Sampling(), N_VOCAB))


def text_with_match(length: int) -> list[int]:
    """A passage of 100 distinct tokens, then its first `length` ones again."""
    return [*range(100), 500, *range(length)]


def test_draft_goes_on_as_the_earlier_occurrence_did() -> None:
    draft = draft_of(suffix_drafter(), text_with_match(6))

    assert draft.tokens == tuple(range(6, 6 + len(draft)))
    assert len(draft) >= 3
    assert draft.match == 6


def test_draft_is_empty_when_nothing_repeats() -> None:
    assert draft_of(suffix_drafter(), [1, 2, 3, 4]) == Draft()


def test_draft_follows_the_latest_occurrence_when_there_are_several() -> None:
    draft = draft_of(suffix_drafter(), [1, 2, 10, 11, 12, 1, 2, 20, 21, 22, 1, 2])

    assert draft.tokens[0] == 20


def test_draft_is_longer_when_the_match_is_longer() -> None:
    short, middle, long = (len(draft_of(suffix_drafter(), text_with_match(n))) for n in (2, 8, 60))

    assert 0 < short < middle < long == 31


def test_draft_is_longer_where_rows_are_cheap() -> None:
    cheap = suffix_drafter(PassCosts((1, 64), (1.0, 1.1)))
    dear = suffix_drafter(PassCosts((1, 64), (1.0, 50.0)))

    assert len(draft_of(cheap, text_with_match(3))) > len(draft_of(dear, text_with_match(3)))


def test_nothing_is_drafted_where_a_row_costs_a_plain_step() -> None:
    costs = PassCosts((1, 64), (1.0, 64.0))

    assert draft_of(suffix_drafter(costs), text_with_match(60)) == Draft()


def test_draft_is_cut_at_k() -> None:
    assert draft_of(suffix_drafter(), text_with_match(40), k=4).tokens == (40, 41, 42, 43)


def test_draft_waits_for_a_second_token_where_single_matches_mislead() -> None:
    misleading = [1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1]

    assert draft_of(suffix_drafter(), misleading) == Draft()


def test_draft_follows_a_single_token_where_single_matches_came_true() -> None:
    truthful = [1, 2, 10, 1, 2, 11, 1, 2, 12, 1]

    assert draft_of(suffix_drafter(), truthful).tokens[:1] == (2,)


def test_draft_goes_round_when_the_text_repeats_itself() -> None:
    cheap = suffix_drafter(PassCosts((1, 64), (1.0, 1.1)))

    draft = draft_of(cheap, [5, 6, 7] * 12)

    assert draft.tokens == ((5, 6, 7) * 11)[:31]


def test_draft_ends_with_the_end_of_generation() -> None:
    draft = draft_of(suffix_drafter(), [1, 2, 3, 4, 5, 6, EOG, 8, 9, 10, 1, 2, 3, 4, 5])

    assert draft.tokens == (6, EOG)


def test_draft_is_the_same_under_a_grammar() -> None:
    """A copy depends on the context alone; the loop cuts what is forbidden of it."""
    context = tokens_of(*text_with_match(40))
    free, bound = RequestSampler(Sampling(), N_VOCAB), RequestSampler(Sampling(), N_VOCAB, Banned())

    assert suffix_drafter().draft(context, 8, bound) == suffix_drafter().draft(context, 8, free)


class Banned:
    """A grammar that allows nothing."""

    def allowed(self, ids: Tokens) -> Mask:
        return np.zeros(len(ids), np.bool_)

    def advanced(self, token: int) -> "Banned":
        raise AssertionError("a forbidden token was taken")


def test_catching_up_appends_only_what_is_new() -> None:
    drafter = suffix_drafter()
    draft_of(drafter, text_with_match(10))
    automaton = drafter._automaton

    draft_of(drafter, text_with_match(20))

    assert drafter._automaton is automaton
    assert automaton.tokens == text_with_match(20)


def test_replaced_context_is_forgotten() -> None:
    drafter = suffix_drafter()
    draft_of(drafter, text_with_match(10))

    draft = draft_of(drafter, [600, 0, 1, 2, 3, 4])

    assert draft == Draft()


def test_continuation_repeats_the_one_token_there_is() -> None:
    assert continuation([1, 2, 3], 2, 4) == [3, 3, 3, 3]
