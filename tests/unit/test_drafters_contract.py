"""The contract suite sees what is wrong with a drafter: one control for each of its tests."""

from collections.abc import Callable

import numpy as np
import pytest

from edgespec.core import Branch, Dist, Draft, Drafter, Sampler, Session, Tokens
from edgespec.drafters.contract import N_VOCAB, StatelessDrafterContract
from edgespec.drafters.guard import Breach


class Sound:
    """A draft model's next token, sampled; what the wrong ones below are made of."""

    name = "sound"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.last: Tokens | None = None

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return self.of(self.law(context, sampler), context, k, sampler) if k else Draft()

    def law(self, context: Tokens, sampler: Sampler) -> Dist:
        row = self.session.forward(context, n_logits=1)[0]
        return sampler.dist(row, context, sampler.constraint)

    def of(self, q: Dist, context: Tokens, k: int, sampler: Sampler) -> Draft:
        token = sampler.draw_draft(q, len(context))
        return Draft((token,), (q,)) if len(q.ids) > 1 else Draft((token,))


class Unnamed(Sound):
    name = "other"


class Endless(Sound):
    def of(self, q: Dist, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft((1,) * (k + 1))


class Eager(Sound):
    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        self.law(context, sampler)
        return super().draft(context, k, sampler)


class Talkative(Sound):
    def of(self, q: Dist, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft((int(q.ids[0]),), (q,))


class Choosy(Sound):
    """Drops what it is not sure of, having drawn it."""

    def of(self, q: Dist, context: Tokens, k: int, sampler: Sampler) -> Draft:
        drawn = super().of(q, context, k, sampler)
        return drawn if q.prob(drawn.tokens[0]) > 0.2 else Draft()


class Argmax(Sound):
    """Says that it drew what it took for being the likeliest."""

    def of(self, q: Dist, context: Tokens, k: int, sampler: Sampler) -> Draft:
        best = (int(q.ids[q.probs.argmax()]),)
        return Draft(best, (q,)) if len(q.ids) > 1 else Draft(best)


class Fickle(Sound):
    """Draws another way where it does not like the first."""

    def of(self, q: Dist, context: Tokens, k: int, sampler: Sampler) -> Draft:
        drawn = super().of(q, context, k, sampler)
        if q.prob(drawn.tokens[0]) > 0.2:
            return drawn
        other = Branch(len(context), (sampler.draw_draft(q, len(context)),), (q,))
        return Draft(drawn.tokens, drawn.dists, (other,))


class Lawless(Sound):
    def law(self, context: Tokens, sampler: Sampler) -> Dist:
        return sampler.dist(self.session.forward(context, n_logits=1)[0], context)


class Scribbling(Sound):
    def of(self, q: Dist, context: Tokens, k: int, sampler: Sampler) -> Draft:
        context[0] = 0
        return Draft()


class Viewing(Sound):
    """Compares with a view of the caller's own array, which has changed meanwhile."""

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        if self.last is not None and len(self.last) and np.array_equal(context, self.last):
            return Draft((0,) * min(k, 1))
        self.last = context
        return super().draft(context, k, sampler)


class Impatient(Sound):
    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return super().draft(context, k, sampler) if len(context) > 1 else Draft((1,) * (k + 1))


class Remembering(Sound):
    """Says what was in the conversation before."""

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        before, self.last = self.last, context.copy()
        if before is not None and len(before) > len(context):
            return Draft(tuple(before[:k].tolist()))
        return super().draft(context, k, sampler)


CONTROLS: dict[str, Callable[[Session], Drafter]] = {
    "test_name_is_the_registered_one": Unnamed,
    "test_draft_keeps_to_length_vocabulary_and_distributions": Endless,
    "test_draft_is_empty_and_free_when_k_is_0": Eager,
    "test_draft_has_no_distributions_when_greedy": Talkative,
    "test_drawn_tokens_are_distributed_as_the_draft_says": Choosy,
    "test_sampled_branches_do_not_follow_from_what_was_drawn": Fickle,
    "test_drawn_draft_obeys_the_grammar_and_leaves_its_state": Lawless,
    "test_context_is_not_written_to": Scribbling,
    "test_draft_is_of_the_context_as_it_was_when_the_array_is_reused": Viewing,
    "test_draft_is_possible_when_the_context_is_one_token": Impatient,
    "test_second_conversation_drafts_as_in_a_fresh_process": Remembering,
    "test_draft_equals_a_fresh_instances_whatever_came_before": Remembering,
}


def contract_of(make: Callable[[Session], Drafter]) -> StatelessDrafterContract:
    class Contract(StatelessDrafterContract):
        name = "sound"

        def build(self, session: Session) -> Drafter:
            return make(session)

    return Contract()


def test_every_test_of_the_contract_has_a_control() -> None:
    tests = {name for name in dir(StatelessDrafterContract) if name.startswith("test_")}

    assert tests == set(CONTROLS)


@pytest.mark.parametrize("test", CONTROLS)
def test_contract_finds_what_is_wrong(test: str) -> None:
    with pytest.raises((AssertionError, Breach, ValueError)):
        getattr(contract_of(CONTROLS[test]), test)()


@pytest.mark.parametrize("test", CONTROLS)
def test_contract_finds_nothing_wrong_with_a_sound_drafter(test: str) -> None:
    getattr(contract_of(Sound), test)()


def test_argmax_that_is_said_to_be_drawn_is_found() -> None:
    with pytest.raises(AssertionError):
        contract_of(Argmax).test_drawn_tokens_are_distributed_as_the_draft_says()


def test_tiny_model_is_as_wide_as_the_contract_says() -> None:
    from edgespec.drafters.contract import TinyModel

    rows = TinyModel().forward(np.array([1, 2], np.int32), n_logits=2)

    assert [len(rows[i]) for i in range(2)] == [N_VOCAB, N_VOCAB]
