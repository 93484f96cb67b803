from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.doors import Doors
from edgespec.cli.main import cli
from edgespec.errors import EdgespecError, ModelFileError
from tests.scripted import DESCRIPTION, Script, ScriptedLM


@pytest.fixture
def gguf(tmp_path: Path) -> str:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return str(path)


def talk(gguf: str, typed: str, lm: ScriptedLM, *flags: str) -> Result:
    doors = Doors(load=lambda *_, **__: lm)
    return CliRunner().invoke(cli, ["--plain", "-m", gguf, *flags], obj=doors, input=typed)


def test_line_chat_answers_every_line(gguf: str) -> None:
    result = talk(gguf, "Hi\nAgain\n", ScriptedLM(["Hello.", "Yes."]))

    assert (result.exit_code, result.stdout) == (0, "Hello.\nYes.\n")


def test_line_chat_sends_the_conversation_so_far(gguf: str) -> None:
    lm = ScriptedLM(["Hello.", "Yes."])

    talk(gguf, "Hi\nAgain\n", lm, "-s", "Be kind.")

    assert [m["content"] for m in lm.requests[1].messages] == ["Be kind.", "Hi", "Hello.", "Again"]


def test_line_chat_joins_lines_that_end_with_a_backslash(gguf: str) -> None:
    lm = ScriptedLM()

    talk(gguf, "one \\\ntwo\n", lm)

    assert lm.requests[0].messages[0]["content"] == "one \ntwo"


def test_line_chat_ignores_empty_lines(gguf: str) -> None:
    lm = ScriptedLM()

    talk(gguf, "\n  \n", lm)

    assert lm.requests == []


def test_line_chat_tells_stats_as_one_sentence(gguf: str) -> None:
    result = talk(gguf, "Hi\n", ScriptedLM(["one two"]), "--stats")

    sentence = result.stderr.splitlines()[-1]
    assert sentence.startswith("2 tokens in 0.08 s; ")
    assert sentence.endswith(".")


def test_line_chat_goes_on_after_an_error(gguf: str) -> None:
    lm = ScriptedLM([Script("Half", error=EdgespecError("it broke", hint="try again")), "Whole."])

    result = talk(gguf, "Hi\nHi\n", lm)

    assert result.stdout == "Half\nWhole.\n"
    assert "edgespec: it broke\nhint: try again\n" in result.stderr


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/help\n", "/quit"),
        ("/draft off\n", "draft OFF"),
        ("/set temp 0.5\n", "temperature = 0.5"),
        ("/set temp hot\n", "edgespec: temperature must be a number"),
        ("/quti\n", "did you mean /quit?"),
        ("/stats\n", "no answer yet"),
    ],
)
def test_line_chat_obeys_commands_on_stderr(typed: str, told: str, gguf: str) -> None:
    lm = ScriptedLM()

    result = talk(gguf, typed, lm)

    assert told in result.stderr
    assert (result.stdout, lm.requests) == ("", [])


def test_line_chat_regenerates(gguf: str) -> None:
    lm = ScriptedLM(["First.", "Second."])

    result = talk(gguf, "Hi\n/regen\n", lm)

    assert result.stdout == "First.\nSecond.\n"


def test_line_chat_prints_the_answer_that_is_copied(gguf: str) -> None:
    result = talk(gguf, "Hi\n/copy\n", ScriptedLM(["Hello."]))

    assert result.stdout == "Hello.\nHello.\n"


def test_line_chat_says_why_a_draft_is_left_out(gguf: str) -> None:
    lm = ScriptedLM(description=replace(DESCRIPTION, drafter="suffix", drafter_note="it costs"))

    result = talk(gguf, "Hi\n", lm)

    assert "draft: it costs\n" in result.stderr


def test_line_chat_leaves_at_quit(gguf: str) -> None:
    lm = ScriptedLM()

    result = talk(gguf, "/quit\nHi\n", lm)

    assert (result.exit_code, lm.requests, lm.is_closed) == (0, [], True)


def test_line_chat_ends_with_the_code_of_a_failed_load(gguf: str) -> None:
    def load(*_: object, **__: object) -> ScriptedLM:
        raise ModelFileError("m.gguf is cut off")

    result = CliRunner().invoke(cli, ["--plain", "-m", gguf], obj=Doors(load=load), input="Hi\n")

    assert (result.exit_code, result.stderr) == (1, "edgespec: m.gguf is cut off\n")
