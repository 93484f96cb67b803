import json
from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner, Result

from edgespec.cli.doors import Doors
from edgespec.cli.main import cli
from edgespec.errors import EdgespecError, ModelFileError
from tests import tinygguf
from tests.scripted import Script, ScriptedLM

Run = Callable[..., Result]


def run(*arguments: str, lm: ScriptedLM, stdin: str | None = None) -> Result:
    doors = Doors(load=lambda *_, **__: lm)
    return CliRunner().invoke(cli, list(arguments), obj=doors, input=stdin)


def test_prompt_prints_the_answer_and_nothing_else(gguf: str) -> None:
    lm = ScriptedLM([Script("Four.", reasoning="2 and 2")])

    result = run("-m", gguf, "-p", "2+2?", lm=lm)

    assert (result.exit_code, result.stdout, result.stderr) == (0, "Four.\n", "")


def test_prompt_sends_system_and_question(gguf: str) -> None:
    lm = ScriptedLM()

    run("chat", "-m", gguf, "-s", "Be brief.", "-p", "Hi", lm=lm)

    assert [(m["role"], m["content"]) for m in lm.requests[0].messages] == [
        ("system", "Be brief."),
        ("user", "Hi"),
    ]


def test_piped_text_is_the_question(gguf: str) -> None:
    lm = ScriptedLM()

    run("-m", gguf, lm=lm, stdin="What is 日本?\n")

    assert lm.requests[0].messages[0]["content"] == "What is 日本?"


def test_piped_text_comes_before_the_prompt(gguf: str) -> None:
    lm = ScriptedLM()

    run("-m", gguf, "-p", "Summarise this.", lm=lm, stdin="A text.\n")

    assert lm.requests[0].messages[0]["content"] == "A text.\n\nSummarise this."


def test_model_is_closed_after_the_answer(gguf: str) -> None:
    lm = ScriptedLM()

    run("-m", gguf, "-p", "Hi", lm=lm)

    assert lm.is_closed


def test_every_sampling_flag_reaches_the_request(gguf: str) -> None:
    lm = ScriptedLM()
    flags = (
        "--temp 0.5 --top-k 7 --top-p 0.9 --min-p 0.1 --typical-p 0.8 --repeat-penalty 1.1 "
        "--presence-penalty 0.2 --frequency-penalty 0.3 --seed 5 --reproducible"
    )

    run("-m", gguf, "-p", "Hi", *flags.split(), lm=lm)

    sampling = lm.requests[0].options.sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == (0.5, 7, 0.9)
    assert (sampling.min_p, sampling.typical_p, sampling.repeat_penalty) == (0.1, 0.8, 1.1)
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (0.2, 0.3)
    assert (sampling.seed, sampling.reproducible) == (5, True)


def test_every_request_flag_reaches_the_request(gguf: str, tmp_path: Path) -> None:
    lm = ScriptedLM()
    (tmp_path / "g.gbnf").write_text("root ::= [0-9]")
    flags = "-n 40 --stop END --stop FIN --no-think --draft-len 3 --grammar"

    run("-m", gguf, "-p", "Hi", *flags.split(), str(tmp_path / "g.gbnf"), lm=lm)

    options = lm.requests[0].options
    assert (options.max_tokens, options.stop, options.draft_len) == (40, ("END", "FIN"), 3)
    assert (options.think, options.grammar) == (False, "root ::= [0-9]")


def test_schema_file_reaches_the_request(gguf: str, tmp_path: Path) -> None:
    lm = ScriptedLM()
    (tmp_path / "s.json").write_text("{}")

    run("-m", gguf, "-p", "Hi", "--json-schema", str(tmp_path / "s.json"), lm=lm)

    assert lm.requests[0].options.json_schema == "{}"


def test_raw_prompt_is_continued_without_a_template(tmp_path: Path) -> None:
    path = str(tinygguf.write_llama(tmp_path / "m.gguf"))
    flags = ("-m", path, "-p", "ab", "-n", "2", "--temp", "0", "--json")

    told = [CliRunner().invoke(cli, [*flags, *more]) for more in ((), ("--raw",))]

    assert [result.exit_code for result in told] == [0, 0], told[1].stderr
    chat, raw = (json.loads(result.stdout)["stats"]["prompt_tokens"] for result in told)
    assert raw <= 3 < chat


def test_logprobs_are_told_with_the_tokens_texts(tmp_path: Path) -> None:
    path = str(tinygguf.write_llama(tmp_path / "m.gguf"))
    flags = ("-m", path, "-p", "ab", "-n", "3", "--temp", "0", "--json", "--logprobs", "2")

    result = CliRunner().invoke(cli, flags)

    told = json.loads(result.stdout)
    assert len(told["logprobs"]) == told["stats"]["generated_tokens"] == 3
    for one in told["logprobs"]:
        assert one["logprob"] <= 0
        assert one["top"][0]["token"] == one["token"]  # greedy
        assert len(one["top"]) == 2


def test_template_of_one_s_own_replaces_the_file_s(tmp_path: Path) -> None:
    path = str(tinygguf.write_llama(tmp_path / "m.gguf"))
    (tmp_path / "long.jinja").write_text("{{ messages[0].content * 20 }}")
    flags = ("-m", path, "-p", "ab", "-n", "2", "--temp", "0", "--json")

    told = [
        CliRunner().invoke(cli, [*flags, *more])
        for more in ((), ("--template", str(tmp_path / "long.jinja")))
    ]

    assert [result.exit_code for result in told] == [0, 0], told[1].stderr
    own, given = (json.loads(result.stdout)["stats"]["prompt_tokens"] for result in told)
    assert given >= 40 > own
    assert "no chat template" not in told[1].stderr


def test_load_gets_every_model_flag(gguf: str, tmp_path: Path) -> None:
    asked: dict[str, object] = {}
    draft = tmp_path / "d.gguf"
    draft.write_bytes(b"GGUF")

    def load(target: object, **rest: object) -> ScriptedLM:
        asked.update(rest, target=target)
        return ScriptedLM()

    (tmp_path / "chat.jinja").write_text("{{ messages }}")
    flags = ["--draft", str(draft), "--drafter", "suffix+model", "-c", "512", "--threads", "3"]
    flags += ["--template", str(tmp_path / "chat.jinja"), "--index", "notes"]
    flags += ["--draft-vocab", "intersect"]
    CliRunner().invoke(cli, ["-t", gguf, "-p", "Hi", *flags], obj=Doors(load=load))

    del asked["progress"]
    assert asked == {
        "target": Path(gguf),
        "draft": draft,
        "draft_vocab": "intersect",
        "drafter": "suffix+model",
        "n_ctx": 512,
        "n_threads": 3,
        "template": "{{ messages }}",
        "index": "notes",
    }


def test_json_is_one_object_and_nothing_else(gguf: str) -> None:
    lm = ScriptedLM([Script("Four.", reasoning="2 and 2")])

    result = run("-m", gguf, "-p", "2+2?", "--json", "--seed", "9", lm=lm)

    answer = json.loads(result.stdout)
    stats = answer.pop("stats")
    assert answer == {
        "text": "Four.",
        "reasoning": "2 and 2",
        "finish_reason": "stop",
        "model": "qwen3-14b",
        "draft": "qwen3-0.6b",
        "drafter": "model",
        "drafter_note": "",
        "seed": 9,
    }
    assert stats["generated_tokens"] == 4
    assert result.stderr == ""


def test_json_names_the_seed_that_was_chosen(gguf: str) -> None:
    lm = ScriptedLM()

    result = run("-m", gguf, "-p", "Hi", "--json", lm=lm)

    assert json.loads(result.stdout)["seed"] == lm.requests[0].options.sampling.seed


def test_json_stream_is_one_event_a_line(gguf: str) -> None:
    lm = ScriptedLM([Script("Four it is.", reasoning="2 and 2")])

    result = run("-m", gguf, "-p", "2+2?", "--json-stream", "--seed", "9", lm=lm)

    events = [json.loads(line) for line in result.stdout.splitlines()]
    kinds = [event["kind"] for event in events]
    assert kinds[0] == "prompt"
    assert set(kinds[1:-1]) == {"prompt", "reasoning", "text", "round"}
    assert "".join(e["text"] for e in events if e["kind"] == "text") == "Four it is."
    assert "".join(e["text"] for e in events if e["kind"] == "reasoning") == "2 and 2"
    rounds = [event for event in events if event["kind"] == "round"]
    n_tokens = sum(len(event["step"]["tokens"]) for event in rounds)
    last = events[-1]
    assert (last["kind"], last["seed"], last["model"]) == ("done", 9, "qwen3-14b")
    assert last["stats"]["generated_tokens"] == rounds[-1]["stats"]["generated_tokens"] == n_tokens
    assert result.stderr == ""


def test_json_stream_ends_with_done_when_the_model_fails(gguf: str) -> None:
    lm = ScriptedLM([Script("Partial", error=EdgespecError("it broke"))])

    result = run("-m", gguf, "-p", "Hi", "--json-stream", lm=lm)

    last = json.loads(result.stdout.splitlines()[-1])
    assert (result.exit_code, last["kind"], last["finish_reason"]) == (1, "done", "error")


def test_stats_go_to_stderr(gguf: str) -> None:
    lm = ScriptedLM(["one two three four five six"])

    result = run("-m", gguf, "-p", "Hi", "--stats", lm=lm)

    assert result.stdout == "one two three four five six\n"
    assert "6 tokens in 0.16 s; 36.6 tok/s (1.79x plain)" in result.stderr
    assert "drafter model; 50% of drafts accepted (4 of 8), 3.00 tokens per round" in result.stderr


def test_error_of_the_model_is_a_sentence_a_hint_and_its_exit_code(gguf: str) -> None:
    def load(*_: object, **__: object) -> ScriptedLM:
        raise ModelFileError("m.gguf is cut off", hint="fetch it again")

    result = CliRunner().invoke(cli, ["-m", gguf, "-p", "Hi"], obj=Doors(load=load))

    assert result.exit_code == 1
    assert result.stderr == "edgespec: m.gguf is cut off\nhint: fetch it again\n"


def test_error_shows_a_traceback_only_with_debug(gguf: str) -> None:
    lm = ScriptedLM([Script("Partial", error=EdgespecError("it broke"))])

    quiet = run("-m", gguf, "-p", "Hi", lm=lm)
    loud = run("-m", gguf, "-p", "Hi", "--debug", lm=ScriptedLM(lm.scripts))

    assert "Traceback" not in quiet.stderr
    assert "Traceback" in loud.stderr


def test_fault_of_our_own_is_a_sentence_without_a_traceback(gguf: str) -> None:
    def load(*_: object, **__: object) -> ScriptedLM:
        raise AssertionError("k is -1")

    result = CliRunner().invoke(cli, ["-m", gguf, "-p", "Hi"], obj=Doors(load=load))

    assert result.exit_code == 1
    assert "fault of its own (AssertionError: k is -1)" in result.stderr
    assert "Traceback" not in result.stderr


def test_partial_answer_is_kept_when_the_model_fails(gguf: str) -> None:
    lm = ScriptedLM([Script("Partial", error=EdgespecError("it broke"))])

    result = run("-m", gguf, "-p", "Hi", lm=lm)

    assert (result.exit_code, result.stdout) == (1, "Partial\n")


def test_json_keeps_the_partial_answer_when_the_model_fails(gguf: str) -> None:
    lm = ScriptedLM([Script("Partial", error=EdgespecError("it broke"))])

    result = run("-m", gguf, "-p", "Hi", "--json", lm=lm)

    answer = json.loads(result.stdout)
    assert (answer["text"], answer["finish_reason"]) == ("Partial", "error")


def test_long_prompt_exits_with_7_and_both_numbers(gguf: str) -> None:
    result = run("-m", gguf, "-p", "Hi", lm=ScriptedLM(n_tokens=9000))

    assert (result.exit_code, result.stdout) == (7, "")
    assert "9,000" in result.stderr
    assert "8,192" in result.stderr


def test_thinking_flag_without_effect_is_said(gguf: str) -> None:
    from dataclasses import replace

    lm = ScriptedLM()
    lm.description = replace(lm.description, can_think=False)

    result = run("-m", gguf, "-p", "Hi", "--think", lm=lm)

    assert "--think changes nothing" in result.stderr
