"""What `edgespec chat` refuses: in one sentence, with a hint, before anything is loaded."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.doors import Doors
from edgespec.cli.main import cli
from tests import tinygguf
from tests.scripted import ScriptedLM


def run(*arguments: str, lm: ScriptedLM, stdin: str | None = None) -> Result:
    doors = Doors(load=lambda *_, **__: lm)
    return CliRunner().invoke(cli, list(arguments), obj=doors, input=stdin)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-p", ""], "the prompt is empty"),
        (["-p", "Hi", "--temp", "-1"], "--temp is -1.0, but must be 0 or more"),
        (["-p", "Hi", "--top-p", "0"], "--top-p is 0.0, but must be above 0 and at most 1"),
        (["-p", "Hi", "--temp", "nan"], "--temp is nan, but must be 0 or more"),
        (["-p", "Hi", "-n", "-1"], "-1 is not from 0 to 2,147,483,647"),
        (["-p", "Hi", "--drafter", "eagle"], "'eagle' is not one of 'none', 'model'"),
        (["-p", "Hi", "--tmep", "1"], "--temp"),
        (["-p", "Hi", "--draft", "off", "--drafter", "model"], "exclude each other"),
        (["-p", "Hi", "--drafter", "suffix", "--draft", "smollm2-135m"], "has no use"),
        (["-p", "Hi", "--drafter", "model"], "needs a draft model"),
        (["-p", "Hi", "--grammar", "no-such-file"], "'no-such-file' does not exist"),
        (["--plain", "--json"], "--json needs a prompt"),
        (["--plain", "--json-stream"], "--json needs a prompt"),
        (["-p", "Hi", "--json", "--json-stream"], "exclude each other"),
        (["-p", "Hi", "--raw", "--template", __file__], "--raw uses no chat template"),
        (["-p", "Hi", "--logprobs", "1"], "--logprobs are told in the JSON object only"),
        (["--plain", "--raw"], "--raw needs a prompt"),
        (["-p", "Hi", "--raw", "-s", "Be kind."], "--system has no place in it"),
        (["-p", "Hi", "--threads", "100000"], "100000 is not from 1 to 512"),
        (["-p", "Hi", "--ctx", "many"], "'many' is not a whole number"),
        (["-p", "Hi", "--ctx", "99999999999"], "99999999999 is not from 1 to 2,147,483,647"),
        (["-p", "Hi", "--draft-len", "1e9"], "'1e9' is not a whole number"),
        (["-p", "Hi", "--stop", ""], "a stop string is empty"),
        (["-p", "Hi", "--memory", "much"], "'much' is no amount of memory"),
        (["-p", "Hi", "--rpc", "::::"], "'::::' is not a worker's address"),
        (["pul"], "there is no command 'pul'"),
    ],
)
def test_bad_input_exits_with_2_and_one_sentence(
    arguments: list[str], sentence: str, gguf: str
) -> None:
    model = [] if arguments == ["pul"] else ["-m", gguf]

    result = run(*arguments, *model, lm=ScriptedLM())

    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr.splitlines()[0]
    assert result.stderr.splitlines()[1].startswith("hint: ")


@pytest.mark.parametrize(
    ("flag", "text", "sentence"),
    [
        ("--template", "a\n{% if %}", "given chat template does not work (line 2 of the template)"),
        ("--template", " \n", "the given chat template is empty"),
        ("--grammar", "root ::= (", "the grammar is wrong at line 1"),
        ("--json-schema", "{", "the JSON schema is no JSON at line 1"),
    ],
)
def test_bad_file_is_told_before_anything_is_fetched(
    flag: str, text: str, sentence: str, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    given.write_text(text)

    result = run("-m", "smollm2-135m", "-p", "Hi", flag, str(given), lm=ScriptedLM())

    assert result.exit_code == 2
    assert sentence in result.stderr.splitlines()[0]
    assert result.stderr.splitlines()[1].startswith("hint: ")


def test_template_of_one_s_own_that_fails_is_not_the_model_s_fault(tmp_path: Path) -> None:
    path = str(tinygguf.write_llama(tmp_path / "m.gguf"))
    (tmp_path / "bad.jinja").write_text("one\n{{ messages + 1 }}")

    result = CliRunner().invoke(
        cli, ["-m", path, "-p", "ab", "--template", str(tmp_path / "bad.jinja")]
    )

    assert result.exit_code == 2
    assert "the given chat template does not work (line 2 of the template)" in result.stderr
    assert "hint: mend the template, or leave it out" in result.stderr


def test_unknown_option_names_the_close_one() -> None:
    result = run("-p", "Hi", "--top-kk", "1", lm=ScriptedLM())

    assert "--top-k" in result.stderr.replace("--top-kk", "")


def test_unknown_command_names_the_close_one() -> None:
    result = run("modles", lm=ScriptedLM())

    assert "hint: did you mean: edgespec models\n" in result.stderr


def test_unknown_word_is_taken_for_a_prompt_in_the_hint() -> None:
    result = run("why is the sky blue?", lm=ScriptedLM())

    assert "hint: to ask the model, say: edgespec -p 'why is the sky blue?'\n" in result.stderr


def test_missing_file_exits_with_3(tmp_path: Path) -> None:
    result = run("-m", str(tmp_path / "none.gguf"), "-p", "Hi", lm=ScriptedLM())

    assert result.exit_code == 3
    assert result.stderr.splitlines()[0].startswith("edgespec: there is no file")


def test_chat_without_a_terminal_says_what_to_do(gguf: str) -> None:
    result = run("-m", gguf, lm=ScriptedLM(), stdin="")

    assert result.exit_code == 2
    assert "edgespec -p" in result.stderr
