"""Grammars, schemas, biases and penalties hold under every drafter and draft length."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgespec.api.model import LoadedModel, load
from edgespec.api.types import Options
from edgespec.core import Sampling
from edgespec.errors import EdgespecError, EngineError, UsageError
from tests.api.answers import EVERY_DRAFTER, READABLE, options
from tests.tinygguf import CHATML, CONTROL, USER_DEFINED, VOCAB, TinyVocab, write_llama

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 6},
            "n": {"enum": [1, 22, 333]},
            "tags": {"type": "array", "items": {"enum": ["the inn", "the hen"]}, "maxItems": 3},
        },
        "required": ["name", "n", "tags"],
        "additionalProperties": False,
    }
)
CHOICE = json.dumps(
    {
        "type": "object",
        "properties": {"n": {"enum": [1, 22, 333]}},
        "required": ["n"],
        "additionalProperties": False,
    }
)
LIST = 'root ::= "- " item ("\\n- " item)* "."\nitem ::= "the inn" | "the hen"'
PROMPT = "the inn and the hen: the inn, the hen, the inn, the hen"


BRANCHING = ("tree", "lookahead", "auto")
NODES = (7, 13, 29)
"""Those of lookahead's windows, whose drafts branch from so many on."""


def sampled(**more: object) -> Options:
    return options(160, temperature=1.0, **more)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 15])
def test_answer_fits_its_schema(pair: LoadedModel, drafter: str, k: int) -> None:
    chosen = sampled(json_schema=SCHEMA, drafter=drafter, draft_len=k)

    reply = pair.complete(PROMPT, chosen)

    value = json.loads(reply.text)
    assert reply.stats.finish_reason == "stop"
    assert list(value) == ["name", "n", "tags"]
    assert len(value["name"]) <= 6
    assert value["n"] in (1, 22, 333)
    assert set(value["tags"]) <= {"the inn", "the hen"}


@pytest.mark.parametrize("n", NODES)
@pytest.mark.parametrize("name", BRANCHING)
def test_answers_under_drafts_that_branch_fit_their_schema(
    loaded: Callable[..., LoadedModel], name: str, n: int
) -> None:
    model = loaded("llama", "draft")  # whatever is at hand, in passes that branch
    for seed in range(3):
        chosen = sampled(json_schema=SCHEMA, drafter=name, draft_len=n, seed=seed)

        reply = model.complete(PROMPT, chosen)

        assert json.loads(reply.text)["n"] in (1, 22, 333)
        assert reply.stats.finish_reason == "stop"


@pytest.mark.parametrize("k", [1, 3, 15])
def test_greedy_answer_under_a_grammar_is_plain_decodings(
    pair: LoadedModel, drafter: str, k: int
) -> None:
    plain = pair.complete(PROMPT, options(60, grammar=LIST, drafter="none"))

    reply = pair.complete(PROMPT, options(60, grammar=LIST, drafter=drafter, draft_len=k))

    assert reply.tokens == plain.tokens
    assert reply.text.startswith("- the ")


@pytest.mark.parametrize("target", ["gemma3", "mamba", "lfm2"])
def test_grammar_holds_on_every_architecture(
    loaded: Callable[..., LoadedModel], target: str, drafter: str
) -> None:
    model = loaded(target, "draft", drafter="none")

    reply = model.complete(PROMPT, sampled(json_schema=SCHEMA, drafter=drafter))

    assert json.loads(reply.text)["n"] in (1, 22, 333)


def test_grammar_begins_anew_with_every_answer(pair: LoadedModel, drafter: str) -> None:
    replies = [pair.complete(PROMPT, sampled(json_schema=SCHEMA, drafter=drafter)) for _ in "abc"]

    assert len({reply.text for reply in replies}) == 1  # the same seed
    assert json.loads(replies[-1].text)


@pytest.mark.parametrize("name", [*EVERY_DRAFTER, *BRANCHING])
def test_answer_after_opened_reasoning_fits_its_schema(thinking: LoadedModel, name: str) -> None:
    """Held to the schema from its first token, it would be reasoning from end to end."""
    closing = (len(VOCAB), 4.0)
    for seed in range(2):
        shaping = Sampling(1.0, logit_bias=(*READABLE, closing), seed=seed)
        chosen = Options(shaping, 300, json_schema=CHOICE, drafter=name, draft_len=7)

        reply = thinking.complete(PROMPT, chosen)

        assert json.loads(reply.text)["n"] in (1, 22, 333)
        assert reply.reasoning
        assert reply.stats.finish_reason == "stop"


@pytest.fixture(scope="module", params=[CONTROL, USER_DEFINED])
def thinking(request: pytest.FixtureRequest, shared_home: Path) -> Iterator[LoadedModel]:
    """A pair whose template opens a block of reasoning, and whose last token closes it."""
    vocab = TinyVocab((*VOCAB.texts, "</think>"), (*VOCAB.types, request.param))
    opening = CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
    target, draft = (
        write_llama(
            shared_home / f"thinks-{request.param}-{noise}.gguf",
            vocab=vocab,
            noise=noise,
            scale=3.0,
            chat_template=opening,
        )
        for noise in (0.0, 0.05)
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("EDGESPEC_HOME", str(shared_home))
        with load(target, draft=draft, n_threads=1, measure=False) as model:
            yield model


def test_forced_tokens_are_drafted_and_accepted(pair: LoadedModel) -> None:
    """The draft model is masked by the same grammar: it is as sure as the target must be."""
    forced = options(100, grammar='root ::= "7.1;9.2:3.3;4.8:5.6;0.0:1.2"', drafter="model")

    stats = pair.complete("Hello", forced).stats

    assert stats.drafted > 10
    assert stats.rejected <= 1


@pytest.mark.parametrize(
    "grammar", ["root ::= (", "", "nonsense", 'x ::= "a"', "root ::= y", "root ::= root"]
)
def test_bad_grammar_is_refused_and_the_engine_works(model: LoadedModel, grammar: str) -> None:
    with pytest.raises(UsageError):
        model.chat("Hello", Options(grammar=grammar))

    assert model.complete("Hello", options(3)).stats.generated_tokens == 3


@pytest.mark.parametrize("schema", ["", "{", "[1", '{"type": "nothing"}'])
def test_bad_schema_is_refused_and_the_engine_works(model: LoadedModel, schema: str) -> None:
    with pytest.raises(EdgespecError):
        model.chat("Hello", Options(json_schema=schema))

    assert model.complete("Hello", options(3)).stats.generated_tokens == 3


def biased(token: int, bias: float, *, temperature: float = 0.0, drafter: str) -> Options:
    shaping = Sampling(temperature, logit_bias=((token, bias),), seed=5)
    return Options(shaping, 30, drafter=drafter)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_banned_token_is_never_said(pair: LoadedModel, drafter: str, temperature: float) -> None:
    free = pair.complete(PROMPT, options(30, drafter=drafter))
    common = max(set(free.tokens), key=free.tokens.count)

    chosen = biased(common, -100, temperature=temperature, drafter=drafter)
    tokens = pair.complete(PROMPT, chosen).tokens

    assert len(tokens) == 30
    assert common not in tokens


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_wanted_token_is_always_said(pair: LoadedModel, drafter: str, temperature: float) -> None:
    wanted = VOCAB.id_of("x")

    chosen = biased(wanted, 100, temperature=temperature, drafter=drafter)
    tokens = pair.complete(PROMPT, chosen).tokens

    assert tokens == (wanted,) * 30


def test_bias_beyond_the_vocabulary_is_refused(model: LoadedModel) -> None:
    with pytest.raises(UsageError, match="token 400"):
        model.chat("Hello", biased(400, 1.0, drafter="none"))


def test_grammar_that_the_bias_forbids_is_an_error_and_the_engine_works(
    model: LoadedModel,
) -> None:
    shaping = Sampling(logit_bias=tuple((t, float("-inf")) for t in range(len(VOCAB))))

    with pytest.raises(EngineError):
        model.complete("Hello", Options(shaping, 5, grammar='root ::= "x"'))

    assert model.complete("Hello", options(3)).stats.generated_tokens == 3


@pytest.mark.parametrize("k", [1, 4, 15])
@pytest.mark.parametrize("last_n", [-1, 8])
def test_penalised_answer_is_plain_decodings(
    pair: LoadedModel, drafter: str, k: int, last_n: int
) -> None:
    shaping = Sampling(
        repeat_penalty=1.3,
        frequency_penalty=0.4,
        presence_penalty=0.3,
        repeat_last_n=last_n,
        logit_bias=READABLE,
    )
    plain = pair.complete(PROMPT, Options(shaping, 50, drafter="none"))
    unpenalised = pair.complete(PROMPT, options(50, drafter="none"))

    reply = pair.complete(PROMPT, Options(shaping, 50, drafter=drafter, draft_len=k))

    assert reply.tokens == plain.tokens
    assert reply.tokens != unpenalised.tokens


@pytest.mark.parametrize(
    "more",
    [
        Sampling(top_k=1),
        Sampling(top_k=40),
        Sampling(top_p=0.5),
        Sampling(min_p=0.2),
        Sampling(typical_p=0.5),
        Sampling(seed=9),
    ],
)
def test_greedy_is_greedy_whatever_is_set_beside(model: LoadedModel, more: Sampling) -> None:
    expected = model.complete(PROMPT, Options(Sampling(), 30)).tokens

    tokens = model.complete(PROMPT, Options(more, 30)).tokens

    assert tokens == expected


@pytest.mark.parametrize("k", [1, 2, 3, 7, 15, 31, 100])
def test_greedy_answer_is_plain_decodings(pair: LoadedModel, drafter: str, k: int) -> None:
    plain = pair.complete(PROMPT, options(60, drafter="none"))

    reply = pair.complete(PROMPT, options(60, drafter=drafter, draft_len=k))

    assert reply.tokens == plain.tokens
    assert reply.text == plain.text
    assert reply.stats.passes <= 60


@pytest.mark.parametrize("target", ["gemma3", "mamba", "lfm2"])
@pytest.mark.parametrize("k", [2, 7, 15, 31])
def test_greedy_answer_is_plain_decodings_on_every_architecture(
    loaded: Callable[..., LoadedModel], drafter: str, target: str, k: int
) -> None:
    model = loaded(target, "draft", drafter="none")
    plain = model.complete(PROMPT, options(80))

    reply = model.complete(PROMPT, options(80, drafter=drafter, draft_len=k))

    assert reply.tokens == plain.tokens
