"""Seeds through the API on llama.cpp: the same one says the same again, whoever drafts."""

import math
from collections.abc import Iterator

import pytest

from edgespec.api.model import LoadedModel, load
from edgespec.api.types import Options
from edgespec.core import Sampling
from tests import tinygguf

DRAFTERS = ("none", "suffix", "model", "cascade", "suffix+model")
PROMPT = "the inn and the hen: the inn, the hen, the inn"
READABLE = tuple((tinygguf.FIRST_BYTE + byte, -math.inf) for byte in range(256))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadedModel]:
    folder = tmp_path_factory.mktemp("seeds")
    target = tinygguf.write_llama(folder / "target.gguf", scale=2.0)
    draft = tinygguf.write_llama(folder / "draft.gguf", scale=2.0, noise=0.05)
    with load(target, draft=draft, n_threads=1, measure=False) as loaded:
        yield loaded


def tokens(
    model: LoadedModel,
    drafter: str,
    *,
    seed: int | None = 1,
    reproducible: bool = False,
    k: int | None = None,
    n: int = 60,
) -> tuple[int, ...]:
    shaping = Sampling(1.0, top_p=0.95, logit_bias=READABLE, seed=seed, reproducible=reproducible)
    return model.complete(PROMPT, Options(shaping, n, drafter=drafter, draft_len=k)).tokens


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("reproducible", [False, True])
def test_same_seed_says_the_same_again(
    model: LoadedModel, drafter: str, reproducible: bool
) -> None:
    first, second = (tokens(model, drafter, reproducible=reproducible) for _ in "ab")

    assert first == second


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("reproducible", [False, True])
def test_other_seeds_say_something_else(
    model: LoadedModel, drafter: str, reproducible: bool
) -> None:
    texts = {
        tokens(model, drafter, seed=seed, reproducible=reproducible, n=20) for seed in range(5)
    }

    assert len(texts) >= 4


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_no_seed_says_something_else_every_time(model: LoadedModel, drafter: str) -> None:
    texts = {tokens(model, drafter, seed=None, n=20) for _ in range(3)}

    assert len(texts) == 3


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("k", [1, 2, 3, 7, 15])
@pytest.mark.parametrize("seed", [1, 2])
def test_reproducible_text_is_the_same_under_every_drafter(
    model: LoadedModel, drafter: str, k: int, seed: int
) -> None:
    plain = tokens(model, "none", seed=seed, reproducible=True)

    drafted = tokens(model, drafter, seed=seed, reproducible=True, k=k)

    assert drafted == plain


@pytest.mark.parametrize("k", [1, 2, 3, 7, 15, 31])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_seeded_text_under_retrieval_is_plain_decodings(
    model: LoadedModel, k: int, seed: int
) -> None:
    assert tokens(model, "suffix", seed=seed, k=k) == tokens(model, "none", seed=seed)


def test_reproducible_drafts_of_the_model_are_accepted(model: LoadedModel) -> None:
    """Coupled noise: draft and target draw the same token wherever they nearly agree."""
    shaping = Sampling(1.0, top_k=20, logit_bias=READABLE, seed=3, reproducible=True)

    stats = model.complete(PROMPT, Options(shaping, 120, drafter="model")).stats

    assert stats.acceptance_rate is not None
    assert stats.acceptance_rate > 0.6
