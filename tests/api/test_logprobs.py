"""Log-probabilities of an answer: one per token, the same whichever drafter was used."""

import math

import pytest

from edgespec.api.model import LoadedModel
from edgespec.errors import UsageError
from tests.api.answers import EVERY_DRAFTER, options, rounds_of

PROMPT = "abc abc abc abc"


@pytest.mark.parametrize("drafter", EVERY_DRAFTER)
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_logprobs_equal_plain_decoding_s(
    pair: LoadedModel, drafter: str, temperature: float
) -> None:
    asked = {"logprobs": 2, "temperature": temperature}
    plain = pair.complete(PROMPT, options(40, drafter="none", **asked))

    reply = pair.complete(PROMPT, options(40, drafter=drafter, **asked))

    assert len(reply.logprobs) == len(reply.tokens)
    assert tuple(one.token for one in reply.logprobs) == reply.tokens
    same = [
        (mine, theirs)
        for mine, theirs in zip(reply.logprobs, plain.logprobs, strict=True)
        if reply.tokens == plain.tokens
    ]
    assert all(mine.logprob == pytest.approx(theirs.logprob, abs=0.05) for mine, theirs in same)
    assert same or drafter in ("model", "cascade", "suffix+model"), (
        "only a sampled draft may change the text"
    )


def test_logprobs_of_drafted_tokens_are_not_certainties(pair: LoadedModel) -> None:
    events = list(pair.chat(PROMPT, options(40, drafter="model", logprobs=0)))

    drafted = [r.step for r in rounds_of(events) if r.step.accepted]
    assert drafted
    assert all(one.logprob < 0 for step in drafted for one in step.logprobs)
    assert all(len(step.logprobs) == len(step.tokens) for step in drafted)


def test_logprobs_name_texts_and_rivals(model: LoadedModel) -> None:
    reply = model.complete(PROMPT, options(5, logprobs=3))

    assert all(len(one.top) == 3 for one in reply.logprobs)
    assert "".join(one.text for one in reply.logprobs) == reply.text
    best = [one.top[0] for one in reply.logprobs]
    assert all(
        rival.logprob >= one.logprob for rival, one in zip(best, reply.logprobs, strict=True)
    )


def test_logprobs_are_the_model_s_own_before_sampling(model: LoadedModel) -> None:
    reply = model.complete(PROMPT, options(5, logprobs=0))

    # The bias leaves 256 tokens and greedy one of them; neither is seen in the figures.
    assert all(math.exp(one.logprob) < 0.999 for one in reply.logprobs)


def test_logprobs_are_left_out_where_nobody_asked(model: LoadedModel) -> None:
    events = list(model.chat(PROMPT, options(5)))

    assert all(r.step.logprobs == () for r in rounds_of(events))


def test_logprobs_below_zero_are_refused(model: LoadedModel) -> None:
    with pytest.raises(UsageError, match="logprobs is -1, but must be a whole number"):
        model.complete(PROMPT, options(5, logprobs=-1))
