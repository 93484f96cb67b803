"""Servers that run already, played: what they are asked and what is read from their answers.

The shapes of questions and answers are those of the servers' own documents, named in the modules.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.bench.engine import Ask, EngineFailed
from edgespec.bench.peers import ollama, openai_http
from edgespec.bench.peers.served import ServedEngine
from edgespec.bench.peers.types import PeerInputs
from edgespec.core import Sampling
from tests.unit.bench_world import prompt
from tests.unit.played_server import Played, played_server

ASK = Ask(prompt("a"), Sampling(0.5, seed=9), 4)
INPUTS = PeerInputs(Path("model.gguf"), None, 8192, 2, 1, lambda p: [1, 2, 3])


@pytest.fixture
def played() -> Iterator[Played]:
    with played_server() as found:
        yield found


def chunk(text: str, **more: object) -> dict[str, object]:
    return {"choices": [{"delta": {"content": text}}], **more}


def openai(played: Played, name: str = "lmstudio", where: str = "a-model") -> ServedEngine:
    kind = replace(openai_http.KINDS[name], url=played.url)
    return openai_http.connect(kind, "draft" if "," in where else "served", where)


@pytest.fixture
def at_ollamas(played: Played) -> Played:
    played.documents = {
        "/api/version": {"version": "0.14.0"},
        "/api/tags": {
            "models": [{"name": "qwen:latest", "details": {"quantization_level": "Q4_K_M"}}]
        },
    }
    played.is_in_lines = True
    played.events = [
        {"message": {"role": "assistant", "content": "", "thinking": "Hm"}, "done": False},
        {"message": {"role": "assistant", "content": "One two"}, "done": False},
        {
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "length",
            "prompt_eval_count": 26,
            "prompt_eval_duration": 325953000,
            "eval_count": 3,
            "eval_duration": 4709213000,
        },
    ]
    return played


def test_openai_server_is_asked_for_the_conversation(played: Played) -> None:
    played.events = [
        chunk("One"),
        chunk(" two"),
        {"choices": [], "usage": {"completion_tokens": 3}},
    ]

    run = openai(played).answer("lmstudio:served", ASK)

    assert played.asked[-1][0] == "/v1/chat/completions"
    assert played.body["messages"] == [{"role": "user", "content": "Say a."}]
    assert (played.body["model"], played.body["stream"]) == ("a-model", True)
    assert played.body["stream_options"] == {"include_usage": True}
    assert (run.n_tokens, run.tokens, len(run.arrivals), run.stats) == (3, (), 2, None)


def test_openai_server_samples_as_edgespec_does(played: Played) -> None:
    played.events = [chunk("One")]

    openai(played).answer("lmstudio:served", ASK)
    lmstudio = played.body
    openai(played, "mlx-lm").answer("mlx-lm:served", ASK)

    for body in (lmstudio, played.body):
        assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.5, 9, 4)
        assert body["top_p"] == 1.0
    assert lmstudio["repeat_penalty"] == 1.0
    assert (played.body["top_k"], played.body["min_p"]) == (0, 0.0)


@pytest.mark.parametrize("name", ["lmstudio", "mlx-lm"])
def test_named_draft_model_is_asked_for(played: Played, name: str) -> None:
    played.events = [chunk("One")]

    engine = openai(played, name, "a-model,a-draft")
    engine.answer(engine.name, ASK)

    assert (played.body["model"], played.body["draft_model"]) == ("a-model", "a-draft")
    assert (engine.name, engine.plain) == (f"{name}:draft", f"{name}:served")
    assert "drafts from a-draft" in engine.build.note


def test_draft_way_without_a_named_draft_is_explained(played: Played) -> None:
    kind = replace(openai_http.KINDS["lmstudio"], url=played.url)

    with pytest.raises(
        EngineFailed, match=r"no draft model is named \(--peer lmstudio=MODEL,DRAFT"
    ):
        openai_http.connect(kind, "draft", "a-model")


def test_lm_studios_counts_of_drafts_are_read(played: Played) -> None:
    stats = {"total_draft_tokens_count": 8, "accepted_draft_tokens_count": 6}
    played.events = [chunk("One"), chunk(" two", usage={"completion_tokens": 10}, stats=stats)]

    run = openai(played, where="a-model,a-draft").answer("lmstudio:draft", ASK)

    assert run.stats is not None
    assert (run.stats.drafted, run.stats.accepted, run.stats.passes) == (8, 6, 4)


def test_server_that_says_nothing_has_failed(played: Played) -> None:
    with pytest.raises(EngineFailed, match="answered a with nothing"):
        openai(played).answer("lmstudio:served", ASK)


def test_error_within_an_answer_is_told_with_its_words(played: Played) -> None:
    played.events = [chunk("One"), {"error": {"message": "the model crashed"}}]

    with pytest.raises(EngineFailed, match=r"lmstudio broke off: .*the model crashed"):
        openai(played).answer("lmstudio:served", ASK)


@pytest.mark.parametrize(
    ("model", "sentence"), [("", "serves a-model"), ("other", "has no model 'other', but a-model")]
)
def test_server_must_have_the_model(played: Played, model: str, sentence: str) -> None:
    with pytest.raises(EngineFailed, match=sentence):
        openai(played, where=model)


def test_server_that_is_not_there_is_told_with_how_to_have_it() -> None:
    kind = replace(openai_http.KINDS["mlx-lm"], url="http://127.0.0.1:9")

    with pytest.raises(EngineFailed, match="nothing answers at") as missing:
        openai_http.connect(kind, "served", "a-model")

    assert missing.value.hint == "mlx_lm.server --model MODEL, then --peer mlx-lm=MODEL"


def test_only_a_first_reading_counts_where_a_server_may_keep_what_it_read(played: Played) -> None:
    played.events = [chunk("One", usage={"completion_tokens": 1})]
    engine = openai(played)

    first, again = engine.read(ASK.prompt), engine.read(ASK.prompt)

    assert first.ttft_s > 0
    assert math.isnan(again.ttft_s)
    assert played.body["max_tokens"] == 1


def test_ollama_gets_our_context_threads_and_sampling(at_ollamas: Played) -> None:
    engine = ollama.connect("qwen", INPUTS, at_ollamas.url)

    engine.answer("ollama:served", ASK)

    path, body = at_ollamas.asked[-1]
    assert path == "/api/chat"
    assert (body["model"], body["stream"]) == ("qwen:latest", True)
    assert body["messages"] == [{"role": "user", "content": "Say a."}]
    # Its own default drops the model after five minutes, in the middle of a benchmark.
    assert body["keep_alive"] == "15m"
    assert body["options"] == {
        "num_ctx": 8192,
        "num_thread": 2,
        "num_predict": 4,
        "temperature": 0.5,
        "seed": 9,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "repeat_penalty": 1.0,
    }


def test_ollamas_answer_is_its_lines_and_its_own_count(at_ollamas: Played) -> None:
    run = ollama.connect("qwen:latest", INPUTS, at_ollamas.url).answer("ollama:served", ASK)

    assert (run.n_tokens, run.tokens, len(run.arrivals)) == (3, (), 2)


def test_ollama_tells_its_version_and_the_models_weights(at_ollamas: Played) -> None:
    build = ollama.connect("qwen", INPUTS, at_ollamas.url).build

    assert (build.version, build.n_threads) == ("0.14.0", 2)
    assert build.note == "qwen:latest Q4_K_M: its own template; not put to sleep"


def test_ollamas_error_is_told_with_its_words(at_ollamas: Played) -> None:
    at_ollamas.events = [{"error": "model requires more system memory"}]

    with pytest.raises(EngineFailed, match="ollama broke off: model requires more system memory"):
        ollama.connect("qwen", INPUTS, at_ollamas.url).answer("ollama:served", ASK)
