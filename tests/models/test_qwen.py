"""The Qwen2.5-Coder pair: texts are plain decoding's, or first differ at a near-tie.

Not run by default: 1.6 GB of models, minutes of computing. `pytest -m qwen -s` shows what differs.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgespec.api.model import LoadedModel, load
from edgespec.api.types import Options
from edgespec.equality import explained

pytestmark = [pytest.mark.models, pytest.mark.qwen]

CODE = """class Shop:
    def __init__(self):
        self.items = {}

    def add(self, name, price):
        self.items[name] = price

    def total(self):
        return sum(self.items.values())
"""
PROMPTS = {
    "edit": f"Rename `items` to `prices` everywhere. Answer with the whole class.\n{CODE}",
    "chat": "Explain in three sentences why the sea is salty.",
    "json": 'Give JSON like [{"name": "Ann", "age": 3}] for Bob 4, Eve 5, Max 6 and Ida 7.',
}
N = 96


@pytest.fixture(scope="module")
def pair(qwen_pair: tuple[Path, Path]) -> Iterator[LoadedModel]:
    target, draft = qwen_pair
    with load(target, draft=draft, n_ctx=1024) as model:
        yield model


@pytest.mark.parametrize("drafter", ["suffix", "model", "cascade", "suffix+model"])
@pytest.mark.parametrize("name", PROMPTS)
def test_first_difference_to_plain_decoding_is_a_near_tie(
    pair: LoadedModel, name: str, drafter: str
) -> None:
    plain = pair.complete(PROMPTS[name], Options(max_tokens=N, drafter="none"))

    reply = pair.complete(PROMPTS[name], Options(max_tokens=N, drafter=drafter))

    prompt = np.array(pair._prepare.prompt_tokens(PROMPTS[name], Options()).tokens, np.int32)
    found = explained(pair._engine.target, prompt, plain.tokens, reply.tokens)
    stats = reply.stats
    print(
        f"\n{name} {drafter}: {stats.generated_tokens} tokens in {stats.passes} passes,"
        f" acceptance {stats.acceptance_rate}, {found or 'equal'}"
    )
    assert found is None or found.is_near_tie


def test_pair_answers(pair: LoadedModel) -> None:
    reply = pair.complete("What is 12 + 30? Answer with the number only.", Options(max_tokens=8))

    assert "42" in reply.text
