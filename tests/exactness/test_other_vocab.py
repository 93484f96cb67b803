"""A draft model of another vocabulary, through llama.cpp: the law of replies is the target's."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgespec.core import Drafter, Sampling
from edgespec.drafters import DrafterInputs, create
from edgespec.drafters.translation import SharedVocab
from edgespec.engine.model import Model
from edgespec.gguf.header import read_header
from edgespec.models.intersection import shared_pieces
from tests import tinygguf
from tests.exactness.chi_square import p_value
from tests.exactness.llama_loop import OPTIONS, Pair, law, repetitive_prompt, replies

N = 2_000
LEAST_P = 1e-4
CAPITALS = [tinygguf.VOCAB.id_of(chr(letter)) for letter in range(ord("A"), ord("Z") + 1)]
OTHERS = tuple((t, -math.inf) for t in range(len(tinygguf.VOCAB)) if t not in CAPITALS)
"""Banned: a text of capitals alone is cut in one way, and both models read the same."""
WARM = Sampling(1.0, top_k=3)
PENALISED = Sampling(1.0, top_k=3, presence_penalty=2.0, repeat_last_n=-1, logit_bias=OTHERS)
PROMPTS = {WARM: None, PENALISED: np.array([tinygguf.BOS, *CAPITALS[:9]], np.int32)}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    paths = folder / "target.gguf", folder / "draft.gguf"
    tinygguf.write_llama(paths[0], scale=1.0)
    tinygguf.write_llama(paths[1], scale=1.0, noise=0.1, vocab=tinygguf.FOREIGN_VOCAB)
    shared = shared_pieces(*(read_header(path).tokens for path in paths))
    models = Model(paths[0]), Model(paths[1])
    target = models[0].new_session(OPTIONS)
    draft = models[1].new_session(replace(OPTIONS, max_logits=1))
    view = SharedVocab(models[0].vocab, models[1].vocab, shared, target.n_vocab)
    inputs = DrafterInputs(target.n_vocab, lambda token: False, draft, translation=view)
    made = Pair(models, target, draft, {str(i): create("model", inputs) for i in range(3)})
    yield made
    made.close()


@pytest.fixture
def drafter(pair: Pair) -> Drafter:
    """One that nobody has judged yet."""
    return pair.drafters.popitem()[1]


@pytest.mark.parametrize("params", [WARM, PENALISED])
def test_law_of_replies_is_the_targets(pair: Pair, drafter: Drafter, params: Sampling) -> None:
    prompt = PROMPTS[params]
    if prompt is None:
        prompt = repetitive_prompt(pair.target)
    expected = law(pair.target, prompt, params)

    counts, steps = replies(pair, drafter, prompt, params, N)

    assert p_value(counts, expected) > LEAST_P
    drafted = sum(step.drafted for step in steps)
    accepted = sum(step.accepted for step in steps)
    assert 0.05 * drafted < accepted < 0.98 * drafted  # both ways out of a draft were taken


def test_greedy_replies_are_the_targets(pair: Pair, drafter: Drafter) -> None:
    prompt = repetitive_prompt(pair.target)

    counts, _ = replies(pair, drafter, prompt, Sampling(), 3)

    assert set(counts) == set(law(pair.target, prompt, Sampling()))


def test_vocabularies_are_not_the_same(tmp_path: Path) -> None:
    """A control: most ids mean something else, so that drafts by id would hardly be accepted."""
    same = sum(
        a == b for a, b in zip(tinygguf.VOCAB.texts, tinygguf.FOREIGN_VOCAB.texts, strict=True)
    )

    assert same < len(tinygguf.VOCAB) - 80
