"""Same seed, same text: random streams that no deterministic draft disturbs, and coupled noise.

These find what no statistical test would: a number drawn once too often, a count not advanced.
"""

from dataclasses import replace

import numpy as np
import pytest

from edgespec.core import Dist, Drafter, Sampling
from edgespec.sampling import RequestSampler
from tests.exactness.toy_loop import generate
from tests.fakes import (
    FixedDrafter,
    NumpyLM,
    OracleDrafter,
    RandomDrafter,
    SampledDrafter,
    WrongDrafter,
)

N_VOCAB, N_TOKENS, PROMPT = 12, 60, (3, 1, 4, 1, 5)
LM = NumpyLM(N_VOCAB, seed=11, scale=1.5)
WIDE = Dist(np.arange(1_000, dtype=np.int32), np.full(1_000, 1e-3))

CHAINS = {
    "greedy": Sampling(0.0),
    "greedy, repeat": Sampling(0.0, repeat_penalty=1.3, repeat_last_n=16),
    "plain": Sampling(0.8),
    "top-k, top-p": Sampling(0.8, top_k=6, top_p=0.9),
    "min-p, typical-p": Sampling(0.8, min_p=0.05, typical_p=0.9),
    "penalties": Sampling(
        0.8, repeat_penalty=1.2, frequency_penalty=0.3, presence_penalty=0.4, repeat_last_n=12
    ),
    "bias": Sampling(0.8, logit_bias=((2, -np.inf), (5, 1.5))),
}


def sampler(chain: str, *, reproducible: bool = False) -> RequestSampler:
    return RequestSampler(replace(CHAINS[chain], seed=42, reproducible=reproducible), N_VOCAB)


def plain_text(chain: str, *, reproducible: bool = False) -> list[int]:
    return generate(LM.row, sampler(chain, reproducible=reproducible), PROMPT, N_TOKENS)


def drafter(kind: str, text: list[int]) -> Drafter:
    whole = [*PROMPT, *text]
    match kind:
        case "oracle":
            return OracleDrafter(whole)
        case "wrong":
            return WrongDrafter(whole, N_VOCAB)
        case "random":
            return RandomDrafter(N_VOCAB)
        case "fixed":
            return FixedDrafter((1, 2, 3, 4))
    raise AssertionError(kind)


DETERMINISTIC = ["oracle", "wrong", "random", "fixed"]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("kind", DETERMINISTIC)
def test_deterministic_drafts_leave_text_and_stream_as_they_were(chain: str, kind: str) -> None:
    plain, speculative = sampler(chain), sampler(chain)
    expected = generate(LM.row, plain, PROMPT, N_TOKENS)

    text = generate(LM.row, speculative, PROMPT, N_TOKENS, drafter(kind, expected))

    assert text == expected
    assert [speculative.draw(WIDE, i) for i in range(4)] == [plain.draw(WIDE, i) for i in range(4)]


@pytest.mark.parametrize("k", [0, 1, 2, 3, 7, 31])
def test_draft_length_does_not_change_the_text(k: int) -> None:
    expected = plain_text("penalties")

    text = generate(
        LM.row, sampler("penalties"), PROMPT, N_TOKENS, drafter("oracle", expected), k=k
    )

    assert text == expected


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("kind", [*DETERMINISTIC, "sampled from p", "sampled from another model"])
def test_reproducible_text_is_the_same_under_every_drafter(chain: str, kind: str) -> None:
    expected = plain_text(chain, reproducible=True)
    judge = sampler(chain, reproducible=True)
    if kind.startswith("sampled"):
        lm = LM if kind == "sampled from p" else NumpyLM(N_VOCAB, seed=12, scale=1.5)
        made: Drafter = SampledDrafter(lambda tokens: judge.dist(lm.row(tokens), tokens))
    else:
        made = drafter(kind, expected)

    text = generate(LM.row, judge, PROMPT, N_TOKENS, made)

    assert text == expected


def test_reproducible_text_depends_on_the_seed() -> None:
    texts = {
        tuple(
            generate(
                LM.row,
                RequestSampler(Sampling(1, seed=seed, reproducible=True), N_VOCAB),
                PROMPT,
                20,
            )
        )
        for seed in range(5)
    }

    assert len(texts) == 5


def test_greedy_text_is_the_models_argmax_under_sampled_drafts() -> None:
    judge = sampler("greedy")
    warm = RequestSampler(Sampling(1.5, seed=1), N_VOCAB)
    made = SampledDrafter(lambda tokens: warm.dist(LM.row(tokens), tokens))

    text = generate(LM.row, judge, PROMPT, N_TOKENS, made)

    assert text == LM.greedy(PROMPT, N_TOKENS)


@pytest.mark.parametrize("chain", ["greedy, repeat", "penalties"])
def test_stale_penalties_change_the_text(chain: str) -> None:
    """A control: counts that miss the draft's own tokens must be seen by these tests."""
    expected = plain_text(chain)

    text = generate(
        LM.row, sampler(chain), PROMPT, N_TOKENS, drafter("oracle", expected), stale=True
    )

    assert text != expected


def test_banned_token_never_appears_under_any_draft_of_it() -> None:
    banned = FixedDrafter((2, 2, 2, 2))

    text = generate(LM.row, sampler("bias"), PROMPT, N_TOKENS, banned)

    assert 2 not in text
    assert len(set(text)) > 4
