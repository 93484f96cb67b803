"""SmolLM2 drafts for Qwen2.5-Coder, which has another vocabulary: texts are plain decoding's.

Not run by default: 1.2 GB of models, a minute of computing. `pytest -m qwen -s` shows the figures.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgespec.api.files import find_files
from edgespec.api.model import LoadedModel, load
from edgespec.api.types import Options
from edgespec.equality import explained

pytestmark = [pytest.mark.models, pytest.mark.qwen]

PROMPTS = {
    "chat": "Explain in three sentences why the sea is salty.",
    "json": 'Give JSON like [{"name": "Ann", "age": 3}] for Bob 4, Eve 5, Max 6 and Ida 7.',
}


@pytest.fixture(scope="module")
def pair(qwen_pair: tuple[Path, Path], smollm2: Path) -> Iterator[LoadedModel]:
    target, _ = qwen_pair
    with load(target, draft=smollm2, draft_vocab="intersect", n_ctx=512, measure=False) as model:
        yield model


def test_vocabularies_share_what_most_texts_are_made_of(
    qwen_pair: tuple[Path, Path], smollm2: Path
) -> None:
    found = find_files(qwen_pair[0], smollm2, "model", "intersect").intersection

    assert found is not None
    assert found.shared.size == 39_237
    assert "cover 94% of calibration texts" in found.told


@pytest.mark.parametrize("name", PROMPTS)
def test_first_difference_to_plain_decoding_is_a_near_tie(pair: LoadedModel, name: str) -> None:
    plain = pair.complete(PROMPTS[name], Options(max_tokens=48, drafter="none"))

    reply = pair.complete(PROMPTS[name], Options(max_tokens=48, drafter="model", draft_len=3))

    prompt = np.array(pair._prepare.prompt_tokens(PROMPTS[name], Options()).tokens, np.int32)
    found = explained(pair._engine.target, prompt, plain.tokens, reply.tokens)
    stats = reply.stats
    print(f"\n{name}: {stats.accepted} of {stats.drafted} accepted, {found or 'equal'}")
    assert found is None or found.is_near_tie
    assert stats.accepted > 0.1 * stats.drafted > 0
