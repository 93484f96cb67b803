"""Drafters of other distributions in a loaded model: arms like ours, and never a reason to fail."""

import logging
from collections.abc import Callable

import pytest

from edgespec.api.model import LoadedModel
from edgespec.api.types import Options
from edgespec.errors import UsageError
from tests.strangers import SOUND, Install

Loader = Callable[..., LoadedModel]
PROMPT = "the inn and the hen"
GREEDY = Options(max_tokens=24)
BROKEN = SOUND.replace("return Draft(", "raise KeyError('lost')\n        return Draft(")


@pytest.fixture
def plain(loaded: Loader) -> tuple[int, ...]:
    with loaded() as model:
        return model.complete(PROMPT, Options(max_tokens=24, drafter="none")).tokens


def test_stranger_drafts_where_it_is_asked_to(
    install: Install, loaded: Loader, plain: tuple[int, ...]
) -> None:
    install(SOUND, "last = stranger:Last")

    reply = loaded(drafter="last").complete(PROMPT, GREEDY)

    assert reply.tokens == plain
    assert reply.stats.drafter == "last"
    assert reply.stats.drafted > 0


def test_stranger_is_an_arm_of_auto(
    install: Install, loaded: Loader, plain: tuple[int, ...]
) -> None:
    certain = SOUND.replace('Bucket("again", 0.5)', 'Bucket("again", 0.99)')
    install(certain, "last = stranger:Last")
    model = loaded(index="off")

    reply = model.complete(PROMPT, GREEDY)

    found = model.explain()
    assert reply.tokens == plain
    assert found is not None
    assert "last" in {decision.drafter for decision in found.decisions}


@pytest.mark.parametrize("drafter", ["last", "auto"])
def test_broken_stranger_costs_its_arm_and_a_sentence(
    install: Install,
    loaded: Loader,
    plain: tuple[int, ...],
    caplog: pytest.LogCaptureFixture,
    drafter: str,
) -> None:
    install(BROKEN.replace("0.5", "0.99"), "last = stranger:Last")
    model = loaded(drafter=drafter)

    replies = [model.complete(PROMPT, GREEDY) for _ in range(2)]

    assert [reply.tokens for reply in replies] == [plain, plain]
    said = [record.message for record in caplog.records if "'last'" in record.message]
    assert said == ["the drafter 'last' is off: 'lost' (KeyError)"]
    if drafter == "last":
        assert replies[0].stats.drafter_note == said[0]


def test_stranger_that_cannot_be_had_is_left_out(
    install: Install, loaded: Loader, plain: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    install(SOUND.replace("pass", "raise OSError('no room')"), "last = stranger:Last")
    install("import lost_and_gone", "gone = another:Gone", package="another")

    reply = loaded().complete(PROMPT, GREEDY)

    assert reply.tokens == plain
    said = {r.message.split("'")[1] for r in caplog.records if r.levelno == logging.WARNING}
    assert said == {"last", "gone"}


def test_stranger_that_was_asked_for_and_cannot_be_had_is_an_error(
    install: Install, loaded: Loader
) -> None:
    install(SOUND.replace("pass", "raise OSError('no room')"), "last = stranger:Last")

    with pytest.raises(UsageError, match="'last' cannot be built: no room"):
        loaded(drafter="last")


def test_stranger_that_could_not_be_built_then_is_not_taken_later(
    install: Install, loaded: Loader
) -> None:
    install(SOUND.replace("pass", "assert not inputs.n_vocab, 'no room'"), "last = stranger:Last")
    model = loaded()

    with pytest.raises(UsageError, match="'last' could not be built"):
        model.complete(PROMPT, Options(max_tokens=24, drafter="last"))
