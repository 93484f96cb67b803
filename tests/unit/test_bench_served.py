"""Servers that run already, played: what they are asked and what is read from their answers.

mlx-lm is played as its server 0.32.2 answers, heard on a CPU; LM Studio as its documents say.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.bench.engine import EngineFailed
from edgespec.bench.peers import openai_http
from edgespec.bench.peers.served import ServedEngine
from edgespec.core import Sampling
from tests.unit.bench_world import ASK_SERVED as ASK
from tests.unit.bench_world import SERVED_INPUTS as INPUTS
from tests.unit.played_server import Played, played_server


@pytest.fixture
def played() -> Iterator[Played]:
    with played_server() as found:
        found.events = answer("One")
        yield found


def chunk(text: str = "", reason: str | None = None, **more: object) -> dict[str, object]:
    delta = {"role": "assistant", **({"content": text} if text else {})}
    return {
        "object": "chat.completion.chunk",
        "system_fingerprint": "0.32.2-0.32.4-macOS-26.1-arm64-applegpu_g13s",
        "choices": [{"index": 0, "finish_reason": reason, "delta": delta}],
        **more,
    }


def answer(*texts: str, n_tokens: int = 3, n_cached: int = 0) -> list[dict[str, object]]:
    usage = {
        "prompt_tokens": 33,
        "completion_tokens": n_tokens,
        "total_tokens": 33 + n_tokens,
        "prompt_tokens_details": {"cached_tokens": n_cached},
    }
    told: dict[str, object] = {"object": "chat.completion", "choices": [], "usage": usage}
    return [*map(chunk, texts), chunk(reason="length"), told]


def openai(played: Played, name: str = "lmstudio", where: str = "a-model") -> ServedEngine:
    kind = replace(openai_http.KINDS[name], url=played.url)
    return openai_http.connect(kind, "draft" if "," in where else "served", where, INPUTS)


def mlx(played: Played, where: str = "a-model") -> ServedEngine:
    return openai(played, "mlx-lm", where)


def test_openai_server_is_asked_for_the_conversation(played: Played) -> None:
    played.events = answer("One", " two")

    run = openai(played).answer("lmstudio:served", ASK)

    assert played.asked[-1][0] == "/v1/chat/completions"
    assert played.body["messages"] == [{"role": "user", "content": "Say a."}]
    assert (played.body["model"], played.body["stream"]) == ("a-model", True)
    assert played.body["stream_options"] == {"include_usage": True}
    assert (run.n_tokens, run.tokens, len(run.arrivals), run.stats) == (3, (), 2, None)


def test_openai_server_samples_as_edgespec_does(played: Played) -> None:
    openai(played).answer("lmstudio:served", ASK)
    lmstudio = played.body
    mlx(played).answer("mlx-lm:served", ASK)

    for body in (lmstudio, played.body):
        assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.5, 9, 4)
        assert (body["top_p"], body["top_k"]) == (1.0, 0)
    assert (lmstudio["repeat_penalty"], lmstudio["presence_penalty"]) == (1.0, 0.0)
    assert (played.body["min_p"], played.body["repetition_penalty"]) == (0.0, 0.0)


@pytest.mark.parametrize("name", ["lmstudio", "mlx-lm"])
def test_named_draft_model_is_asked_for(played: Played, name: str) -> None:
    played.documents["/v1/models"] = {"data": [{"id": "a-model"}, {"id": "a-draft"}]}

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
        openai_http.connect(kind, "draft", "a-model", INPUTS)


@pytest.mark.parametrize("draft", ["elsewhere/a-draft", "default_model"])
def test_draft_model_that_is_not_here_is_not_asked_for(played: Played, draft: str) -> None:
    # mlx-lm would fetch the one, and decode plainly with the other unless it has a draft model.
    with pytest.raises(EngineFailed, match=f"mlx-lm lists no model '{draft}'") as failed:
        mlx(played, f"a-model,{draft}")

    assert failed.value.hint == ""


@pytest.mark.parametrize("way", ["served", "draft"])
def test_models_of_one_of_two_ways_are_loaded_before_the_clock_runs(
    played: Played, way: str
) -> None:
    # mlx-lm holds the models of one way, and loads the other's in the middle of its answer.
    played.documents["/v1/models"] = {"data": [{"id": "a-model"}, {"id": "a-draft"}]}
    kind = replace(openai_http.KINDS["mlx-lm"], url=played.url)
    engine = openai_http.connect(kind, way, "a-model,a-draft", INPUTS)

    engine.read(ASK.prompt)
    engine.answer(engine.name, ASK)

    asked = [(body["messages"][0]["content"], body["max_tokens"]) for _, body in played.asked]
    assert asked == [("Hello.", 1), ("Say a.", 1), ("Say a.", 1), ("Say a.", 4)]
    assert {body.get("draft_model") for _, body in played.asked} == {
        "a-draft" if way == "draft" else None
    }


def test_first_drawn_answer_of_the_only_way_is_asked_for_one_token_before(played: Played) -> None:
    # MLX compiled what sampling takes in the middle of it: 24 s for 12 tokens.
    engine = mlx(played)
    greedy = replace(ASK, sampling=Sampling())

    for ask in (greedy, ASK, ASK):
        engine.answer("mlx-lm:served", ask)

    asked = [(body["temperature"], body["max_tokens"]) for _, body in played.asked]
    assert asked == [(0.0, 4), (0.5, 1), (0.5, 4), (0.5, 4)]


def test_lm_studios_counts_of_drafts_are_read(played: Played) -> None:
    stats = {"total_draft_tokens_count": 8, "accepted_draft_tokens_count": 6}
    last = chunk(" two", "stop", usage={"completion_tokens": 10}, stats=stats)
    played.events = [chunk("One"), last]

    run = openai(played, where="a-model,a-model").answer("lmstudio:draft", ASK)

    assert run.stats is not None
    assert (run.stats.drafted, run.stats.accepted, run.stats.passes) == (8, 6, 4)


def test_server_that_says_nothing_has_failed(played: Played) -> None:
    played.events = answer(n_tokens=0)

    with pytest.raises(EngineFailed, match="answered a with nothing"):
        openai(played).answer("lmstudio:served", ASK)


def test_error_within_an_answer_is_told_with_its_words(played: Played) -> None:
    played.events = [chunk("One"), {"error": {"message": "the model crashed"}}]

    with pytest.raises(EngineFailed, match=r"lmstudio broke off: .*the model crashed"):
        openai(played).answer("lmstudio:served", ASK)


def test_server_that_is_killed_has_not_answered(played: Played) -> None:
    # The real one, killed, was taken for the fastest there is: its connection ends like any other.
    played.events, played.is_killed = [chunk("One"), chunk(" two")], True

    with pytest.raises(EngineFailed, match="mlx-lm broke off in the middle of an answer"):
        mlx(played).answer("mlx-lm:served", ASK)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [("", "lists a-model; which"), ("other", "lists no model 'other', but a-model")],
)
def test_server_must_have_the_model(played: Played, model: str, sentence: str) -> None:
    with pytest.raises(EngineFailed, match=sentence):
        openai(played, where=model)


def test_server_that_is_not_there_is_told_with_how_to_have_it() -> None:
    kind = replace(openai_http.KINDS["mlx-lm"], url="http://127.0.0.1:9")

    with pytest.raises(EngineFailed, match="nothing answers at") as missing:
        openai_http.connect(kind, "served", "a-model", INPUTS)

    assert missing.value.hint == "mlx_lm.server --model MODEL, then --peer mlx-lm=MODEL"


def test_server_that_refuses_is_not_taken_for_none(played: Played) -> None:
    played.documents["/v1/models"], played.status = {"error": "an API token is needed"}, 401

    with pytest.raises(EngineFailed, match=r"answered with status 401: .*an API token is needed"):
        openai(played)


def test_other_program_at_the_port_is_not_measured_under_its_name(played: Played) -> None:
    # llama-server and mlx-lm both listen on 8080.
    played.documents["/v1/models"] = {"data": [{"id": "model.gguf", "owned_by": "llamacpp"}]}

    with pytest.raises(EngineFailed, match=r"is llama\.cpp's server, not mlx-lm") as failed:
        mlx(played, "model.gguf")

    assert "--peer llama-server" in failed.value.hint


def test_mlx_lm_takes_what_it_was_started_with(played: Played) -> None:
    # While the hub's cache does not exist, its list of models is a success without a body.
    played.documents["/v1/models"] = b""

    engine = mlx(played, "default_model")
    engine.answer(engine.name, ASK)

    assert played.body["model"] == "default_model"
    assert "its own default_model, weights not told" in engine.build.note


def test_model_that_mlx_lm_does_not_list_is_told_with_the_name_that_always_works(
    played: Played,
) -> None:
    played.documents["/v1/models"] = b""

    with pytest.raises(EngineFailed, match="lists no model 'a/model', nor any other") as failed:
        mlx(played, "a/model")

    assert failed.value.hint == "--peer mlx-lm=default_model is what it was started with"


@pytest.mark.parametrize(
    ("config", "weights"),
    [
        ('{"quantization": {"group_size": 64, "bits": 4}}', "4 bits where edgespec has Q4_K_M"),
        ('{"torch_dtype": "bfloat16"}', "bfloat16 where edgespec has Q4_K_M"),
        ("no JSON", "weights not told"),
    ],
)
def test_mlx_lms_folder_is_asked_for_by_its_whole_path(
    played: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, weights: str
) -> None:
    (tmp_path / "a-folder").mkdir()
    (tmp_path / "a-folder" / "config.json").write_text(config, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    engine = mlx(played, "./a-folder")
    engine.answer(engine.name, ASK)

    assert played.body["model"] == str((tmp_path / "a-folder").resolve())
    assert f"a-folder, {weights}; its own model format" in engine.build.note


def test_mlx_lms_version_is_that_of_its_answers(played: Played) -> None:
    engine = mlx(played)
    before = engine.build.version

    engine.answer(engine.name, ASK)

    assert (before, engine.build.version) == ("not told", "0.32.2, mlx 0.32.4")
    assert engine.build.is_served


@pytest.mark.parametrize(
    ("told", "weights"),
    [
        ({"quantization": "Q4_K_M", "compatibility_type": "gguf"}, "a-model, Q4_K_M; its own"),
        ({"quantization": "4bit", "compatibility_type": "mlx"}, "4bit mlx where edgespec has Q4"),
        (None, "a-model, weights not told"),
    ],
)
def test_lm_studio_tells_the_models_weights(
    played: Played, told: dict[str, str] | None, weights: str
) -> None:
    if told:
        played.documents["/api/v0/models"] = {"data": [{"id": "other"}, {"id": "a-model", **told}]}

    assert weights in openai(played).build.note


def test_only_a_first_reading_counts_where_a_server_may_keep_what_it_read(played: Played) -> None:
    engine = openai(played)

    first, again = engine.read(ASK.prompt), engine.read(ASK.prompt)

    assert first.ttft_s > 0
    assert math.isnan(again.ttft_s)
    assert played.body["max_tokens"] == 1


@pytest.mark.parametrize(("n_cached", "counts"), [(1, True), (24, False)])
def test_reading_does_not_count_where_the_server_tells_that_it_had_read_most(
    played: Played, n_cached: int, counts: bool
) -> None:
    # mlx-lm finds the beginning that all prompts share: a system prompt in the template.
    played.events = answer("One", n_cached=n_cached)

    reading = mlx(played).read(ASK.prompt)

    assert (reading.ttft_s > 0) == counts
