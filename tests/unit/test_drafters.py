"""The contract of every registered drafter."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.core import Constraint, Draft, Drafter, Mask, Sampling, Tokens
from edgespec.drafters import DRAFTERS, DrafterInputs, create, find
from edgespec.errors import UsageError
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import ListRetriever, NumpyLM, tokens_of

N_VOCAB = 8
EOG = 7
TEXTS = ListRetriever([1, 2, 3, 4, 5, 6, 1, 2, 3], [0, 1, 0, 1, 0, EOG, 1, 1, 1])
GREEDY = Sampling()
WARM = Sampling(temperature=1.0, seed=3)

few = settings(max_examples=25, deadline=None)
REMEMBERS = ("lookahead", "tree")
"""What it drafts follows from the target's answers too, not from the context alone."""
every_drafter = pytest.mark.parametrize("name", DRAFTERS)
contexts = st.lists(st.integers(0, N_VOCAB - 1), min_size=1, max_size=40)
lengths = st.integers(0, 12)


def drafter(name: str, lm: NumpyLM | None = None) -> Drafter:
    """A fresh one, whose draft model is sure of what it says."""
    session = lm or NumpyLM(N_VOCAB, scale=8.0)
    inputs = DrafterInputs(
        N_VOCAB, lambda token: token == EOG, session, retriever=TEXTS, max_branches=16
    )
    return create(name, inputs)


def draft_of(
    made: Drafter,
    context: list[int],
    k: int,
    params: Sampling,
    constraint: Constraint | None = None,
) -> Draft:
    return made.draft(tokens_of(*context), k, RequestSampler(params, N_VOCAB, constraint))


class Alternating:
    """A grammar: even and odd tokens in turn."""

    def __init__(self, parity: int = 0) -> None:
        self.parity = parity

    def allowed(self, ids: Tokens) -> Mask:
        allowed: Mask = ids % 2 == self.parity
        return allowed

    def advanced(self, token: int) -> "Alternating":
        assert token % 2 == self.parity, (token, self.parity)
        return Alternating(1 - self.parity)


@every_drafter
@few
@given(context=contexts, k=lengths)
def test_draft_has_at_most_k_tokens(name: str, context: list[int], k: int) -> None:
    draft = draft_of(drafter(name), context, k, WARM)

    assert len(draft) <= k


@every_drafter
def test_draft_is_empty_and_free_when_k_is_0(name: str) -> None:
    lm = NumpyLM(N_VOCAB, scale=8.0)

    draft = draft_of(drafter(name, lm), [1, 2, 3, 1, 2, 3], 0, WARM)

    assert draft == Draft()
    assert lm.n_decoded == 0


@every_drafter
@few
@given(context=contexts, k=lengths)
def test_dists_are_absent_or_those_the_tokens_came_from(
    name: str, context: list[int], k: int
) -> None:
    draft = draft_of(drafter(name, NumpyLM(N_VOCAB, scale=3.0)), context, k, WARM)

    assert len(draft.dists) in (0, len(draft))
    for token, q in zip(draft.tokens, draft.dists, strict=False):
        assert q.prob(token) > 0
        assert abs(q.probs.sum() - 1) < 1e-12


@every_drafter
def test_draft_has_no_dists_when_greedy(name: str) -> None:
    draft = draft_of(drafter(name), [1, 2, 3, 1, 2, 3], 4, GREEDY)

    assert draft.dists == ()


@every_drafter
@few
@given(context=contexts, k=lengths)
def test_end_of_generation_is_a_drafts_last_token(name: str, context: list[int], k: int) -> None:
    draft = draft_of(drafter(name), context, k, WARM)

    assert EOG not in draft.tokens[:-1]


@every_drafter
@few
@given(context=contexts, k=lengths)
def test_drawn_draft_obeys_the_grammar_and_leaves_its_state(
    name: str, context: list[int], k: int
) -> None:
    """The loop cuts a copy, but may not cut what was drawn."""
    grammar = Alternating()

    draft = draft_of(drafter(name), context, k, WARM, grammar)

    if draft.dists:
        assert [token % 2 for token in draft.tokens] == [i % 2 for i in range(len(draft))]
    assert grammar.parity == 0


@every_drafter
def test_context_is_not_written_to(name: str) -> None:
    context = tokens_of(1, 2, 3, 1, 2, 3)
    context.flags.writeable = False

    drafter(name).draft(context, 8, RequestSampler(WARM, N_VOCAB))

    assert context.tolist() == [1, 2, 3, 1, 2, 3]


@every_drafter
def test_draft_is_of_the_context_as_it_was_when_the_caller_reuses_its_array(name: str) -> None:
    made, array = drafter(name), tokens_of(1, 2, 3, 1, 2, 3)
    made.draft(array, 4, RequestSampler(GREEDY, N_VOCAB))

    array[:] = tokens_of(4, 5, 4, 5, 4, 5)
    draft = made.draft(array, 4, RequestSampler(GREEDY, N_VOCAB))

    assert draft == draft_of(drafter(name), [4, 5, 4, 5, 4, 5], 4, GREEDY)


@every_drafter
@pytest.mark.parametrize("token", range(N_VOCAB))
def test_draft_is_possible_when_the_context_is_one_token(name: str, token: int) -> None:
    draft = draft_of(drafter(name), [token], 4, GREEDY)

    assert len(draft) <= 4


@pytest.mark.parametrize("name", [n for n in DRAFTERS if n not in REMEMBERS])
@few
@given(calls=st.lists(st.tuples(contexts, lengths), min_size=2, max_size=6), data=st.data())
def test_draft_equals_a_fresh_instances_whatever_came_before(
    name: str, calls: list[tuple[list[int], int]], data: st.DataObject
) -> None:
    used = drafter(name)
    for context, k in calls:
        draft_of(used, context, k, GREEDY)
    kept = data.draw(st.integers(0, len(calls[-1][0])))
    context = calls[-1][0][:kept] + data.draw(contexts)  # cut, replaced, or continued

    draft = draft_of(used, context, 8, GREEDY)

    assert draft == draft_of(drafter(name), context, 8, GREEDY)


@every_drafter
def test_second_conversation_drafts_as_in_a_fresh_process(name: str) -> None:
    first, second = [1, 2, 3, 4, 5, 6, 1, 2, 3], [6, 5, 1, 2]
    shared, alone = drafter(name), drafter(name)

    draft_of(shared, first, 8, GREEDY)
    after_another = [draft_of(shared, second[:n], 8, GREEDY) for n in range(1, 5)]

    assert after_another == [draft_of(alone, second[:n], 8, GREEDY) for n in range(1, 5)]


@every_drafter
def test_drafter_carries_its_registered_name(name: str) -> None:
    assert drafter(name).name == name


def test_find_names_the_choices_when_the_name_is_unknown() -> None:
    with pytest.raises(UsageError) as error:
        find("ngram")

    assert "'ngram'" in error.value.message
    assert all(name in error.value.hint for name in DRAFTERS)


@pytest.mark.parametrize("name", [name for name in DRAFTERS if find(name).needs_draft_model])
def test_create_says_so_when_the_draft_model_is_missing(name: str) -> None:
    with pytest.raises(UsageError, match="needs a draft model"):
        create(name, DrafterInputs(N_VOCAB, lambda token: False))


@pytest.mark.parametrize("name", [name for name in DRAFTERS if not find(name).needs_draft_model])
def test_create_needs_no_session_for_a_drafter_without_a_model(name: str) -> None:
    made = create(
        name,
        DrafterInputs(N_VOCAB, lambda token: False, retriever=TEXTS, max_branches=16),
    )

    assert len(made.draft(np.array([1, 2, 1], np.int32), 4, RequestSampler(GREEDY, 8))) <= 4


def test_create_says_so_when_there_is_no_index() -> None:
    with pytest.raises(UsageError, match="needs an index of your own texts") as error:
        create("index", DrafterInputs(N_VOCAB, lambda token: False))

    assert error.value.hint == "edgespec index add PATH makes one"


def test_registry_can_be_listed_without_numpy() -> None:
    code = "import sys, edgespec.drafters; sys.exit('numpy' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], check=False)

    assert done.returncode == 0
