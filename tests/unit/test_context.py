import numpy as np
import pytest

from edgespec.context import Context
from edgespec.events import Source
from tests.fakes import tokens_of

TAKEN: tuple[Source, ...] = ("accepted", "accepted", "bonus")


def never(token: int, source: Source) -> bool:
    return False


def test_context_appends_what_is_committed() -> None:
    context = Context(tokens_of(1, 2), 10)

    emitted = context.commit((3, 4, 5), TAKEN, never)

    assert emitted == (3, 4, 5)
    assert context.tokens.tolist() == [1, 2, 3, 4, 5]
    assert len(context) == 5
    assert not context.is_ended


def test_commit_stops_with_the_token_that_ends() -> None:
    context = Context(tokens_of(1, 2), 10)
    heard: list[tuple[int, Source]] = []

    def ends(token: int, source: Source) -> bool:
        heard.append((token, source))
        return token == 4

    emitted = context.commit((3, 4, 5), TAKEN, ends)

    assert emitted == (3, 4)
    assert context.tokens.tolist() == [1, 2, 3, 4]
    assert context.is_ended
    assert heard == [(3, "accepted"), (4, "accepted")]


def test_draft_follows_without_being_committed() -> None:
    context = Context(tokens_of(1, 2), 10)

    both = context.followed_by((7, 8)).tolist()

    assert both == [1, 2, 7, 8]
    assert context.tokens.tolist() == [1, 2]


def test_draft_of_the_whole_room_fits() -> None:
    context = Context(tokens_of(1, 2), 4)

    assert context.followed_by((7, 8)).tolist() == [1, 2, 7, 8]


def test_views_are_read_only_and_stay_true() -> None:
    context = Context(tokens_of(1, 2), 10)
    before = context.tokens
    context.followed_by((7, 8))
    context.commit((3, 4, 5), TAKEN, never)

    assert before.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 9


def test_prompt_is_copied() -> None:
    prompt = np.array([1, 2], np.int32)
    context = Context(prompt, 10)
    prompt[0] = 9

    assert context.tokens.tolist() == [1, 2]


@pytest.mark.parametrize("prompt", [(), (1, 2, 3, 4, 5)])
def test_prompt_must_fit(prompt: tuple[int, ...]) -> None:
    with pytest.raises(AssertionError):
        Context(tokens_of(*prompt), 4)
