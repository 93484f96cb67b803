"""Native faults in the middle of an answer: told where they are read, and over afterwards."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edgespec.api.model import LoadedModel
from edgespec.engine.session import LlamaSession
from edgespec.errors import DecodeFailed
from edgespec.events import Event
from tests.api.answers import end_of, options, rounds_of, text_of

ROOT = Path(__file__).parents[2]
PROMPT = "the inn and the hen, the inn and"


def failing(session: LlamaSession, *passes: int) -> None:
    """Let these native passes of `session`, counted from 1, fail with all their rows decoded."""
    context: Any = session._context
    real_decode = context.decode
    numbers = iter(range(1, 10_000))

    def decode(batch: Any) -> None:
        real_decode(batch)
        if next(numbers) in passes:
            raise DecodeFailed("injected")

    context.decode = decode


def read(stream: Iterator[Event], events: list[Event]) -> None:
    for event in stream:
        events.append(event)


@pytest.mark.parametrize("target", ["llama", "gemma3", "mamba", "lfm2"])
@pytest.mark.parametrize("at", [1, 2, 5])
def test_fault_is_raised_after_what_was_said_and_the_next_answer_is_right(
    loaded: Callable[..., LoadedModel], target: str, at: int
) -> None:
    model = loaded(target)
    expected = loaded(target).complete(PROMPT, options(20)).text
    failing(model._engine.target, at)
    stream = model.chat(PROMPT, options(20))
    events: list[Event] = []

    with pytest.raises(DecodeFailed):
        read(iter(stream), events)

    assert stream.stats.finish_reason == "error"
    assert expected.startswith(text_of(events))
    assert stream.stats.passes == len(rounds_of(events)) == max(0, at - 2)
    assert model.complete(PROMPT, options(20)).text == expected


@pytest.mark.parametrize("drafter", ["model", "cascade"])
@pytest.mark.parametrize("passes", [(1,), (2, 3), tuple(range(1, 100))])
def test_fault_of_the_draft_model_costs_no_answer(
    pair: LoadedModel, passes: tuple[int, ...], drafter: str
) -> None:
    expected = pair.complete(PROMPT, options(30, drafter="none")).text
    assert pair._loaded.draft_session is not None
    failing(pair._loaded.draft_session, *passes)

    events = list(pair.chat(PROMPT, options(30, drafter=drafter)))

    assert text_of(events) == expected
    gave_up = len(passes) > 2
    assert ("failed" in end_of(events).drafter_note) == gave_up
    assert (end_of(events).drafted == 0) == gave_up


ABANDON = """
import sys, edgespec
model = edgespec.load(sys.argv[1], n_threads=1, measure=False)
stream = model.chat("Hello", edgespec.Options(max_tokens=400))
next(iter(stream))
other = model.chat("Hello", edgespec.Options(max_tokens=400))
print("left")
"""


def test_program_that_forgets_to_close_ends_cleanly(files: dict[str, Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ABANDON, str(files["llama"])],
        capture_output=True,
        cwd=ROOT,
        timeout=60,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"left\n", b"")
