from itertools import islice

import numpy as np

from edgespec.core import Draft, Mask, Sampling, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.automaton import ONCE
from edgespec.drafters.suffix import SuffixDrafter, bucket_of
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import tokens_of

N_VOCAB = 1000
EOG = 999


def suffix_drafter() -> SuffixDrafter:
    return SuffixDrafter(DrafterInputs(N_VOCAB, lambda token: token == EOG))


def heard_of(drafter: SuffixDrafter, context: list[int]) -> list[tuple[int, bool]]:
    """What the drafter tells of the tokens that are new to it."""
    heard: list[tuple[int, bool]] = []
    drafter.outlook(tokens_of(*context), lambda bucket, is_hit: heard.append((bucket, is_hit)))
    return heard


def draft_of(drafter: SuffixDrafter, context: list[int], k: int = 31) -> Draft:
    return drafter.draft(tokens_of(*context), k, RequestSampler(Sampling(), N_VOCAB))


def text_with_match(length: int) -> list[int]:
    """A passage of 100 distinct tokens, then its first `length` ones again."""
    return [*range(100), 500, *range(length)]


def test_draft_goes_on_as_the_earlier_occurrence_did() -> None:
    draft = draft_of(suffix_drafter(), text_with_match(6))

    assert draft.tokens == tuple(range(6, 37))
    assert draft.match == 6


def test_draft_is_empty_when_nothing_repeats() -> None:
    assert draft_of(suffix_drafter(), [1, 2, 3, 4]) == Draft()


def test_draft_follows_the_latest_occurrence_when_there_are_several() -> None:
    draft = draft_of(suffix_drafter(), [1, 2, 10, 11, 12, 1, 2, 20, 21, 22, 1, 2])

    assert draft.tokens[0] == 20


def test_draft_is_cut_at_k() -> None:
    assert draft_of(suffix_drafter(), text_with_match(40), k=4).tokens == (40, 41, 42, 43)


def test_draft_has_no_tokens_when_none_are_asked_for() -> None:
    assert draft_of(suffix_drafter(), text_with_match(40), k=0) == Draft()


def test_draft_goes_round_when_the_text_repeats_itself() -> None:
    draft = draft_of(suffix_drafter(), [5, 6, 7] * 12)

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


def test_outlook_names_the_kinds_of_the_tokens_that_are_drafted() -> None:
    drafter = suffix_drafter()
    context = text_with_match(2)

    buckets = list(islice(drafter.outlook(tokens_of(*context), _unheard), 12))

    assert buckets == [bucket_of(length, ONCE) for length in range(2, 14)]
    assert len(draft_of(drafter, context, k=12)) == 12


def test_outlook_ends_with_the_end_of_generation() -> None:
    context = tokens_of(1, 2, 3, 4, 5, 6, EOG, 8, 9, 10, 1, 2, 3, 4, 5)

    assert len(list(suffix_drafter().outlook(context, _unheard))) == 2


def test_every_new_token_tells_whether_it_was_proposed() -> None:
    drafter = suffix_drafter()
    heard_of(drafter, [1, 2, 3, 4, 1])

    heard = heard_of(drafter, [1, 2, 3, 4, 1, 2, 9])

    assert heard == [(bucket_of(1, ONCE), True), (bucket_of(2, ONCE), False)]


def test_what_stood_there_before_tells_nothing() -> None:
    assert heard_of(suffix_drafter(), [1, 2, 1, 2, 1]) == []


def test_kinds_tell_forks_from_what_always_followed() -> None:
    always = suffix_drafter().outlook(tokens_of(1, 2, 8, 1, 2, 9, 1), _unheard)
    fork = suffix_drafter().outlook(tokens_of(1, 2, 8, 1, 3, 9, 1), _unheard)

    names = [SuffixDrafter.buckets[next(outlook)].name for outlook in (always, fork)]
    assert names == ["match 1, always so", "match 1, or other"]


def test_a_conversation_leaves_nothing_for_the_next() -> None:
    """llama.cpp #27852: acceptance fell from 86 to 11 % with a cache of another conversation."""
    used, fresh = suffix_drafter(), suffix_drafter()
    draft_of(used, [7, 8, 9] * 20)

    drafts = [draft_of(drafter, [1, 2, 3, 9, 1, 2, 3]) for drafter in (used, fresh)]

    assert drafts[0] == drafts[1]


def _unheard(bucket: int, is_hit: bool) -> None:
    """Nothing is learned."""
