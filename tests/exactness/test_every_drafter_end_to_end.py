"""Every drafter of the registry, alone and all together, through llama.cpp with an index and a
draft model: at each temperature the text is plain decoding's, drawn by the same random stream.

What draws from a model of its own keeps the stream only where noise is shared (`reproducible`).
An accepted branch leaves the cache's cells in another order, and flash attention adds them up in
that order, in 16 bits: rows then differ by up to 0.003, and one drawn text in twenty.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from edgespec.api.model import LoadedModel, load
from edgespec.api.types import Options
from edgespec.core import Sampling
from edgespec.drafters import DRAFTERS, find
from edgespec.index.documents import Document
from edgespec.index.store import Index
from tests import tinygguf

PROMPT = "the inn and the hen: the inn, the hen, the inn"
READABLE = tuple((tinygguf.FIRST_BYTE + byte, -math.inf) for byte in range(256))
NAMES = (*(name for name in DRAFTERS if name != "none"), "auto")
GUESSED = tuple(name for name in NAMES if name != "auto" and not find(name).needs_draft_model)
BRANCHING = ("tree", "lookahead", "auto")
TEMPERATURES = (0.0, 0.7, 1.0)
SEEDS = range(5)
N = 24


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadedModel]:
    folder = tmp_path_factory.mktemp("every")
    target = tinygguf.write_llama(folder / "target.gguf", scale=2.0)
    draft = tinygguf.write_llama(folder / "draft.gguf", scale=2.0, noise=0.05)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("EDGESPEC_HOME", str(folder))
        with load(target, n_threads=1, measure=False, index="off") as alone:
            said = [alone.complete(PROMPT, options("none", heat)).text for heat in TEMPERATURES]
        # Half of each answer stands there, and goes on in another way.
        halves = [text[: len(text) // 2] + " and so on" for text in said]
        Index("notes").add([Document(f"{i}.txt", text) for i, text in enumerate(halves)])
        with load(target, draft=draft, n_threads=1, measure=False) as loaded:
            yield loaded


def options(
    drafter: str, temperature: float, *, seed: int = 0, reproducible: bool = False
) -> Options:
    shaping = Sampling(
        temperature, top_p=0.95, logit_bias=READABLE, seed=seed, reproducible=reproducible
    )
    return Options(shaping, N, drafter=drafter)


def equal_texts(
    model: LoadedModel, drafter: str, temperature: float, *, reproducible: bool = False
) -> int:
    """For how many of the seeds the text is plain decoding's."""
    n = 0
    for seed in SEEDS:
        said = {
            model.complete(
                PROMPT, options(name, temperature, seed=seed, reproducible=reproducible)
            ).tokens
            for name in ("none", drafter)
        }
        n += len(said) == 1
    return n


def test_every_kind_of_drafter_is_looked_at() -> None:
    assert {"suffix", "index", "tree", "lookahead"} <= set(GUESSED)
    assert {"model", "cascade", "suffix+model", "auto"} <= set(NAMES) - set(GUESSED)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("drafter", GUESSED)
def test_guessed_drafts_leave_the_text_as_it_was(
    model: LoadedModel, drafter: str, temperature: float
) -> None:
    reply = model.complete(PROMPT, options(drafter, temperature))

    n = equal_texts(model, drafter, temperature)

    assert reply.stats.drafted > 0
    assert n >= 3 if drafter in BRANCHING else n == len(SEEDS)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("drafter", NAMES)
def test_reproducible_text_is_plain_decodings(
    model: LoadedModel, drafter: str, temperature: float
) -> None:
    n = equal_texts(model, drafter, temperature, reproducible=True)

    assert n >= 3 if drafter in BRANCHING else n == len(SEEDS)


@pytest.mark.parametrize("drafter", GUESSED)
def test_three_requests_in_a_row_say_the_same(model: LoadedModel, drafter: str) -> None:
    plain = model.complete(PROMPT, options("none", 0.0)).tokens

    said = {model.complete(PROMPT, options(drafter, 0.0)).tokens for _ in range(3)}

    assert said == {plain}


@pytest.mark.parametrize("drafter", ["suffix", "index", "lookahead"])
def test_another_conversation_between_changes_no_draft(model: LoadedModel, drafter: str) -> None:
    """A cache that outlives its request drafts from, and gives away, what others wrote (row 90).

    A tree's size follows from what passes took, so its counts are never quite the same.
    """
    asked = replace(options(drafter, 0.0), draft_len=7)
    first = model.complete(PROMPT, asked).stats
    model.complete("the hen and the ox: the hen, the ox", asked)

    again = model.complete(PROMPT, asked).stats

    assert (again.drafted, again.accepted) == (first.drafted, first.accepted)


@pytest.mark.parametrize("k", range(1, 8))
def test_text_that_repeats_itself_is_plain_decodings(model: LoadedModel, k: int) -> None:
    """Lookup that matches its own loop makes it endless elsewhere (row 91)."""
    shaping = Sampling(logit_bias=READABLE)
    prompt = "ha ha ha ha ha ha ha ha"
    plain = model.complete(prompt, Options(shaping, 200, drafter="none"))

    reply = model.complete(prompt, Options(shaping, 200, drafter="suffix", draft_len=k))

    assert reply.tokens == plain.tokens
    assert reply.stats.accepted > 0
