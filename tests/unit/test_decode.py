"""The loop over fakes: the text is plain decoding's, and limits are exact."""

import pytest

from edgespec.core import Sampling
from edgespec.drafters import DRAFTERS, create
from tests.fakes import (
    NumpyLM,
    OracleDrafter,
)
from tests.unit.decode_loop import FAKES, LENGTHS, N_VOCAB, PROMPT, fake, inputs, plain, run


@pytest.mark.parametrize("k", LENGTHS)
@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("name", DRAFTERS)
def test_greedy_text_is_the_models_argmax(name: str, seed: int, k: int) -> None:
    done = run(create(name, inputs(seed=seed)), k=k)

    assert done.tokens == NumpyLM(N_VOCAB).greedy(PROMPT, 40)


@pytest.mark.parametrize("k", LENGTHS)
@pytest.mark.parametrize("kind", FAKES)
def test_seeded_text_is_plain_decodings_under_deterministic_drafts(kind: str, k: int) -> None:
    warm = Sampling(0.8, repeat_penalty=1.2, frequency_penalty=0.2, seed=42)
    expected = plain(40, sampling=warm)

    done = run(fake(kind, expected), k=k, sampling=warm)

    assert done.tokens == expected
    assert len(set(expected)) > 4


@pytest.mark.parametrize("name", DRAFTERS)
def test_reproducible_text_is_the_same_under_every_drafter(name: str) -> None:
    warm = Sampling(0.9, seed=3, reproducible=True)

    done = run(create(name, inputs(seed=5)), k=3, sampling=warm)

    assert done.tokens == plain(40, sampling=warm)


@pytest.mark.parametrize("k", LENGTHS)
def test_length_is_exact_for_every_limit(k: int) -> None:
    expected = plain(40)

    for n in range(41):
        done = run(OracleDrafter((*PROMPT, *expected, 1, 1)), k=k, max_tokens=n)

        assert (done.tokens, done.reason) == (expected[:n], "length")


@pytest.mark.parametrize("k", LENGTHS)
def test_right_drafts_take_as_few_passes_as_possible(k: int) -> None:
    expected = plain(40)

    done = run(OracleDrafter((*PROMPT, *expected)), k=k)

    assert len(done.steps) == -(-40 // (k + 1))


def test_wrong_drafts_take_a_pass_per_token() -> None:
    expected = plain(40)

    done = run(fake("wrong", expected))

    assert len(done.steps) == 40
    assert sum(step.accepted for step in done.steps) == 0


@pytest.mark.parametrize("k", LENGTHS)
def test_nothing_follows_an_end_inside_a_draft(k: int) -> None:
    text = plain(40)
    eog = text[11]
    first = text.index(eog)

    done = run(OracleDrafter((*PROMPT, *text)), k=k, eog=eog)

    assert done.tokens == text[: first + 1]
    assert done.reason == "stop"
    assert [token for token, _ in done.heard] == done.tokens


@pytest.mark.parametrize("n", [5, 6, 7])
def test_stop_wins_over_length_within_the_budget(n: int) -> None:
    text = plain(40)
    eog = text[5]
    first = text.index(eog)

    done = run(OracleDrafter((*PROMPT, *text)), k=15, eog=eog, max_tokens=n)

    inside = first < n
    assert done.reason == ("stop" if inside else "length")
    assert done.tokens == text[: first + 1 if inside else n]


@pytest.mark.parametrize("k", LENGTHS)
def test_context_is_filled_to_its_last_token(k: int) -> None:
    lm = NumpyLM(N_VOCAB, n_ctx=30)
    text = plain(40)

    done = run(OracleDrafter((*PROMPT, *text)), k=k, lm=lm, max_tokens=None)

    assert done.tokens == text[: 30 - len(PROMPT)]
    assert done.reason == "context_full"


def test_limit_that_ends_with_the_context_is_a_length() -> None:
    done = run(lm=NumpyLM(N_VOCAB, n_ctx=30), max_tokens=25)

    assert done.reason == "length"


def test_draft_is_no_longer_than_the_rows_of_a_pass() -> None:
    lm = NumpyLM(N_VOCAB, max_logits=4)
    text = plain(40)

    done = run(OracleDrafter((*PROMPT, *text)), k=15, lm=lm)

    assert max(step.drafted for step in done.steps) == 3
    assert done.tokens == text
