"""Drafts from the user's own texts, and answers that become such texts."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from edgespec.api.model import LoadedModel, load
from edgespec.errors import IndexFault, UsageError
from edgespec.index.documents import Document
from edgespec.index.learned import NAME, switch_learning
from edgespec.index.store import Index
from tests.api.answers import options

PROMPT = "Hello there"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of each test's own; the verdict on this build is shared."""
    (tmp_path / "cache").symlink_to(shared_home / "cache")
    (shared_home / "cache").mkdir(exist_ok=True)
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))


def added(*texts: str, name: str = "notes") -> None:
    Index(name).add([Document(f"{i}.txt", text) for i, text in enumerate(texts)])


def test_answer_that_stands_in_the_index_is_drafted_from_it(
    loaded: Callable[..., LoadedModel],
) -> None:
    plain = loaded().complete(PROMPT, options(60))
    added(f"what was said: {plain.text}", "something else")

    model = loaded()
    reply = model.complete(PROMPT, options(60, drafter="index", draft_len=8))

    assert reply.tokens == plain.tokens
    assert reply.stats.drafter == "index"
    assert reply.stats.accepted > 20


def test_auto_makes_use_of_the_index(loaded: Callable[..., LoadedModel]) -> None:
    plain = loaded().complete(PROMPT, options(60))
    added(plain.text)

    reply = loaded().complete(PROMPT, options(60))

    assert reply.tokens == plain.tokens
    assert reply.stats.accepted > 20


def test_index_can_be_left_out(loaded: Callable[..., LoadedModel]) -> None:
    added("text " * 20)

    with pytest.raises(UsageError, match="needs an index"):
        loaded(index="off").complete(PROMPT, options(4, drafter="index"))


@pytest.mark.parametrize(("index", "is_counted_on"), [("auto", True), ("off", False)])
def test_plan_of_a_load_counts_on_the_index_that_is_used(
    loaded: Callable[..., LoadedModel], index: str, is_counted_on: bool
) -> None:
    added("text " * 20)

    plan = loaded(index=index)._loaded.plan

    assert ("index" in plan.drafters) == is_counted_on


def test_index_of_a_wrong_name_is_refused(files: dict[str, Path]) -> None:
    added("text " * 20)

    with pytest.raises(UsageError, match="there is no index 'nots'; there are: notes"):
        load(files["llama"], index="nots", measure=False)


def test_damaged_index_costs_no_answer(
    loaded: Callable[..., LoadedModel], caplog: pytest.LogCaptureFixture, files: dict[str, Path]
) -> None:
    added("text " * 20)
    (Index("notes").folder / "manifest.json").write_text("{")

    with caplog.at_level(logging.WARNING):
        reply = loaded().complete(PROMPT, options(4))

    assert len(reply.tokens) == 4
    assert "the index 'notes' is left out" in caplog.text
    with pytest.raises(IndexFault):
        load(files["llama"], index="notes", measure=False)


def test_asking_for_the_index_without_one_says_how_to_make_it(files: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="needs an index") as error:
        load(files["llama"], drafter="index", measure=False)

    assert error.value.hint == "edgespec index add PATH makes one"


def test_answers_are_learned_where_both_the_user_and_the_request_want_it(
    loaded: Callable[..., LoadedModel],
) -> None:
    model = loaded()
    model.complete(PROMPT, options(40, learn=True))
    switch_learning(is_on=True)
    model.complete(PROMPT, options(40))
    assert not Index(NAME).exists

    reply = model.complete(PROMPT, options(40, learn=True))
    model.close()

    (segment,) = Index(NAME).manifest.segments
    (entry,) = segment.entries
    assert entry.path.startswith("answer of ")
    again = loaded().complete(PROMPT, options(40, drafter="index", draft_len=8))
    assert again.tokens == reply.tokens
    assert again.stats.accepted > 20


def test_nothing_more_is_learned_once_it_is_switched_off(
    loaded: Callable[..., LoadedModel],
) -> None:
    switch_learning(is_on=True)
    model = loaded()

    switch_learning(is_on=False)
    model.complete(PROMPT, options(40, learn=True))
    model.close()

    assert not Index(NAME).exists


def test_cancelled_answer_is_not_learned(loaded: Callable[..., LoadedModel]) -> None:
    switch_learning(is_on=True)
    model = loaded()

    with model.chat(PROMPT, options(60, learn=True)) as stream:
        for event in stream:
            if event.kind == "round" and event.stats.generated_tokens > 30:
                break
    model.close()

    assert not Index(NAME).exists


def test_lookahead_needs_passes_that_branch(loaded: Callable[..., LoadedModel]) -> None:
    narrow, any_drafter = loaded(drafter="suffix"), loaded()
    with pytest.raises(UsageError, match="needs passes that branch"):
        narrow.complete(PROMPT, options(4, drafter="lookahead"))

    for drafter in ("lookahead", "tree"):
        reply = any_drafter.complete(PROMPT, options(30, drafter=drafter))
        assert reply.tokens == narrow.complete(PROMPT, options(30)).tokens


def test_recurrent_model_says_why_it_has_no_lookahead(files: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="keeps a state instead of attention memory"):
        load(files["mamba"], drafter="lookahead", measure=False, n_threads=1)
