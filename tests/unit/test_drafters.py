"""The contract of every registered drafter."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.core import Drafter, Sampling, Session
from edgespec.drafters import DRAFTERS, DrafterInputs, create, find
from edgespec.drafters.contract import (
    EOG,
    N_VOCAB,
    DrafterContract,
    StatelessDrafterContract,
    draft_of,
)
from edgespec.errors import UsageError
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import ListRetriever, NumpyLM

TEXTS = ListRetriever([1, 2, 3, 4, 5, 6, 1, 2, 3], [0, 1, 0, 1, 0, EOG, 1, 1, 1])
GREEDY = Sampling()

few = settings(max_examples=25, deadline=None)
REMEMBERS = ("lookahead", "tree")
"""What it drafts follows from the target's answers too, not from the context alone."""
contexts = st.lists(st.integers(0, N_VOCAB - 1), min_size=1, max_size=40)
lengths = st.integers(0, 12)


def is_eog(token: int) -> bool:
    return token == EOG


class _Ours(DrafterContract):
    """The registry's drafters, with texts to retrieve from."""

    def inputs(self, session: Session) -> DrafterInputs:
        return replace(super().inputs(session), retriever=TEXTS)


class TestStateless(_Ours, StatelessDrafterContract):
    """Drafters whose drafts follow from the context."""

    @pytest.fixture(autouse=True, params=[name for name in DRAFTERS if name not in REMEMBERS])
    def named(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param


class TestLearning(_Ours):
    """Drafters that learn from the target too."""

    @pytest.fixture(autouse=True, params=REMEMBERS)
    def named(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param


@pytest.mark.parametrize("name", [n for n in DRAFTERS if n not in REMEMBERS])
@few
@given(calls=st.lists(st.tuples(contexts, lengths), min_size=2, max_size=6), data=st.data())
def test_draft_equals_a_fresh_instances_whatever_came_before(
    name: str, calls: list[tuple[list[int], int]], data: st.DataObject
) -> None:
    def drafter() -> Drafter:
        session = NumpyLM(N_VOCAB, scale=8.0)
        return create(name, DrafterInputs(N_VOCAB, is_eog, session, retriever=TEXTS))

    used = drafter()
    for context, k in calls:
        draft_of(used, context, k, GREEDY)
    kept = data.draw(st.integers(0, len(calls[-1][0])))
    context = calls[-1][0][:kept] + data.draw(contexts)  # cut, replaced, or continued

    draft = draft_of(used, context, 8, GREEDY)

    assert draft == draft_of(drafter(), context, 8, GREEDY)


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
