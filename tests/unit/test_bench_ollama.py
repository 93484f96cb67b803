"""Ollama as a peer: what it is asked, and what its answers and its failures are taken for.

It is played as its server answers that was built from its source.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from edgespec.bench.engine import EngineFailed
from edgespec.bench.peers import ollama
from tests.unit.bench_world import ASK_SERVED as ASK
from tests.unit.bench_world import SERVED_INPUTS as INPUTS
from tests.unit.played_server import Played, played_server


@pytest.fixture
def at_ollamas() -> Iterator[Played]:
    with played_server() as played:
        played.documents = {
            "/api/version": {"version": "0.14.0"},
            "/api/tags": {
                "models": [
                    {"name": "qwen:latest", "details": {"quantization_level": "Q4_K_M"}},
                    {"name": "far:cloud", "remote_host": "https://far.example:443"},
                ]
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
        yield played


def test_ollama_gets_our_context_threads_and_sampling(at_ollamas: Played) -> None:
    engine = ollama.connect("qwen", INPUTS, at_ollamas.url)

    engine.answer("ollama:served", ASK)

    path, body = at_ollamas.asked[-1]
    assert path == "/api/chat"
    assert (body["model"], body["stream"]) == ("qwen:latest", True)
    assert body["messages"] == [{"role": "user", "content": "Say a."}]
    # Its own default drops the model after five minutes, in the middle of a benchmark.
    assert body["keep_alive"] == "15m"
    # Its own default drops messages that are too many, and says nothing.
    assert (body["truncate"], body["shift"]) == (False, False)
    assert body["options"] == {
        "num_ctx": 8192,
        "num_thread": 2,
        "num_predict": 4,
        "temperature": 0.5,
        "seed": 9,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "typical_p": 1.0,
        "repeat_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
    }


def test_ollamas_answer_is_its_lines_and_its_own_count(at_ollamas: Played) -> None:
    run = ollama.connect("qwen:latest", INPUTS, at_ollamas.url).answer("ollama:served", ASK)

    assert (run.n_tokens, run.tokens, len(run.arrivals)) == (3, (), 2)


def test_ollamas_answer_without_a_last_line_is_counted_as_it_came(at_ollamas: Played) -> None:
    # It ends an answer in which one token comes thirty times in a row, and does not say so.
    at_ollamas.events.pop()

    run = ollama.connect("qwen", INPUTS, at_ollamas.url).answer("ollama:served", ASK)

    assert run.n_tokens == len(run.arrivals) == 2


def test_ollama_that_is_killed_has_not_answered(at_ollamas: Played) -> None:
    at_ollamas.is_killed = True

    with pytest.raises(EngineFailed, match="ollama broke off: IncompleteRead"):
        ollama.connect("qwen", INPUTS, at_ollamas.url).answer("ollama:served", ASK)


def test_ollama_tells_its_version_and_the_models_weights(at_ollamas: Played) -> None:
    build = ollama.connect("qwen", INPUTS, at_ollamas.url).build

    assert (build.version, build.n_threads, build.is_served) == ("0.14.0", 2, True)
    assert build.note == "its own qwen:latest, Q4_K_M; its own template; not put to sleep"


def test_other_quantisation_than_edgespecs_is_said_so(at_ollamas: Played) -> None:
    build = ollama.connect("qwen", replace(INPUTS, quant="Q8_0"), at_ollamas.url).build

    assert "its own qwen:latest, Q4_K_M where edgespec has Q8_0" in build.note


def test_model_that_ollama_runs_elsewhere_is_sent_nothing(at_ollamas: Played) -> None:
    with pytest.raises(EngineFailed, match=r"far:cloud run at https://far\.example:443, not on"):
        ollama.connect("far:cloud", INPUTS, at_ollamas.url)

    assert at_ollamas.asked == []


def test_ollama_that_is_not_there_is_told_with_how_to_have_it() -> None:
    with pytest.raises(EngineFailed, match="nothing answers at") as missing:
        ollama.connect("qwen", INPUTS, "http://127.0.0.1:9")

    assert missing.value.hint == "ollama serve, then --peer ollama=MODEL"


def test_ollamas_error_is_told_with_its_words(at_ollamas: Played) -> None:
    at_ollamas.events = [{"error": "model requires more system memory"}]

    with pytest.raises(EngineFailed, match="ollama broke off: model requires more system memory"):
        ollama.connect("qwen", INPUTS, at_ollamas.url).answer("ollama:served", ASK)
