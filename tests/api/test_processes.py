"""A model and the processes of its program: what a fork may do, what can travel."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import edgespec
from edgespec.api.model import LoadedModel
from tests.api.answers import options

ROOT = Path(__file__).parents[2]

FORK = """
import os, signal, sys, threading, edgespec
model = edgespec.load(sys.argv[1], n_threads=1, measure=False)
stream = model.chat("Hello", edgespec.Options(max_tokens=400))
events = iter(stream)
next(events)
for use in (
    lambda: model.complete("Hello"),
    lambda: model.count("Hello"),
    lambda: next(events),
    lambda: list(stream),
    stream.cancel,
    stream.close,
    model.close,
):
    if (child := os.fork()) == 0:
        signal.alarm(20)
        try:
            use()
            print("nothing happened")
        except edgespec.Closed as error:
            print(error)
        sys.exit()
    os.waitpid(child, 0)
n_rest = sum(1 for _ in events)
print(stream.stats.finish_reason, model.complete("Hello", edgespec.Options(max_tokens=2)).stats)
"""

GONE = "this model was loaded by another process, which this one was forked from"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_fork_is_told_at_once_and_leaves_the_model_alone(files: dict[str, Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(files["llama"])],
        capture_output=True,
        cwd=ROOT,
        timeout=120,
        text=True,
    )

    *told, last = done.stdout.splitlines()
    assert done.stderr == ""
    assert told == [GONE] * 4 + ["nothing happened"] * 3
    assert last.startswith("length Stats(prompt_tokens=")


@pytest.mark.parametrize("carry", [pickle.dumps, copy.copy, copy.deepcopy])
def test_what_lives_in_one_process_cannot_be_copied(
    model: LoadedModel, carry: Callable[[object], object]
) -> None:
    stream = model.chat("Hello", options(3))

    for thing in (model, stream):
        with pytest.raises(TypeError, match=f"{type(thing).__name__} cannot be copied or pickled"):
            carry(thing)

    assert list(stream)[-1].kind == "done"


@pytest.mark.parametrize("carry", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_what_an_answer_tells_can_travel(
    model: LoadedModel, carry: Callable[[object], object]
) -> None:
    asked = edgespec.Options(max_tokens=3, logprobs=2)
    events = list(model.chat("Hello", asked))

    for thing in (*events, asked, model.complete("Hello", asked), model.description):
        assert carry(thing) == thing
