from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.doors import Doors
from edgespec.cli.main import cli
from edgespec.errors import EdgespecError, ModelFileError
from edgespec.history.library import Library, history_path
from edgespec.history.store import HistoryStore
from tests.scripted import DESCRIPTION, Script, ScriptedLM


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


def test_line_chat_edits_the_last_message_as_a_branch(gguf: str) -> None:
    lm = ScriptedLM(["First.", "Second."])

    result = talk(gguf, "Hi\n/edit\nHello\n/branch\n", lm)

    assert "it is: Hi\n" in result.stderr
    assert [m["content"] for m in lm.requests[1].messages] == ["Hello"]
    assert 'message 1 "Hello": branch 2 of 2' in result.stderr


def test_line_chat_leaves_a_message_as_it_is_after_an_empty_edit(gguf: str) -> None:
    lm = ScriptedLM(["First.", "Second."])

    talk(gguf, "Hi\n/edit\n\nMore\n", lm)

    assert [m["content"] for m in lm.requests[1].messages] == ["Hi", "First.", "More"]


def test_line_chat_keeps_a_message_whose_answer_failed(gguf: str) -> None:
    lm = ScriptedLM([Script("", error=EdgespecError("it broke")), "Whole."])

    result = talk(gguf, "Hi\n/regen\n", lm)

    assert "your message is kept: /regen answers it again" in result.stderr
    assert result.stdout == "Whole.\n"


def full_context() -> ScriptedLM:
    """Holds two turns of 43 tokens, and no third message with room for its answer."""
    return ScriptedLM(["word " * 30], replace(DESCRIPTION, n_ctx=100))


def test_line_chat_asks_what_to_do_when_the_context_is_full(gguf: str) -> None:
    lm = full_context()

    result = talk(gguf, "a b c d e\na b c d e\nand now\n", lm)

    assert "Your message waits:\n/context drop      leave out the oldest turn" in result.stderr
    assert "/context cancel    take the message back\n" in result.stderr
    assert len(lm.requests) == 2


def test_line_chat_sends_nothing_past_a_message_that_waits(gguf: str) -> None:
    lm = full_context()

    result = talk(gguf, "a b c d e\na b c d e\nand now\nnext\n/context cancel\nx\n", lm)

    assert result.stderr.count("Your message waits:") == 3
    assert "not sent: and now\n" in result.stderr


def test_line_chat_drops_the_oldest_turn_when_told_to(gguf: str) -> None:
    lm = full_context()

    result = talk(gguf, "a b c d 1\na b c d 2\nand now\n/context drop\n", lm)

    assert [m["content"] for m in lm.requests[2].messages][::2] == ["a b c d 2", "and now"]
    assert "the oldest turn is left out of what the model sees from here on" in result.stderr


def test_line_chat_continues_the_last_chat(gguf: str) -> None:
    talk(gguf, "Hi\n", ScriptedLM(["Hello."]), "-s", "Be kind.", "--temp", "0.3")
    lm = ScriptedLM(["Yes."])

    result = talk(gguf, "Again\n", lm, "--continue")

    assert '"Hi", 1 turn; /show shows them\nyou: Hi\n\nHello.\n' in result.stderr
    assert [m["content"] for m in lm.requests[0].messages] == ["Be kind.", "Hi", "Hello.", "Again"]
    assert lm.requests[0].options.sampling.temperature == 0.3


def test_flags_overrule_how_a_chat_was_held(gguf: str) -> None:
    talk(gguf, "Hi\n", ScriptedLM(), "--temp", "0.3", "--top-k", "7", "-n", "9")
    lm = ScriptedLM()

    talk(gguf, "Again\n", lm, "--continue", "--temp", "0.9", "-s", "New.")

    options = lm.requests[0].options
    assert (options.sampling.temperature, options.sampling.top_k, options.max_tokens) == (0.9, 7, 9)
    assert lm.requests[0].messages[0]["content"] == "New."


def test_line_chat_resumes_a_chat_by_the_beginning_of_its_id(gguf: str) -> None:
    talk(gguf, "First\n", ScriptedLM())
    talk(gguf, "Second\n", ScriptedLM())
    (_, first) = Library().chats()
    lm = ScriptedLM()

    talk(gguf, "More\n", lm, "--resume", first.id[:5])

    assert lm.requests[0].messages[0]["content"] == "First"
    assert [c.n_turns for c in Library().chats()] == [2, 1]


@pytest.mark.parametrize("flag", ["--private", "--no-history"])
def test_private_line_chat_leaves_nothing(flag: str, gguf: str) -> None:
    lm = ScriptedLM()

    result = talk(gguf, "secret\n", lm, flag)

    assert "this chat is private: nothing of it is saved" in result.stderr
    assert not history_path().exists()
    assert not lm.requests[0].options.learn


def test_answers_of_a_saved_chat_may_be_learned(gguf: str) -> None:
    lm = ScriptedLM()

    talk(gguf, "hello\n", lm)

    assert lm.requests[0].options.learn


@pytest.mark.parametrize(
    ("flags", "code", "sentence"),
    [
        (("--continue",), 1, "there are no saved chats yet"),
        (("--resume", "nothere"), 1, "there are no saved chats yet"),
        (("--continue", "--resume", "x"), 2, "exclude each other"),
        (("--continue", "--private"), 2, "a private chat is a new one"),
        (("--continue", "-p", "Hi"), 2, "a prompt is answered by itself"),
    ],
)
def test_chat_that_cannot_be_continued_is_told(
    flags: tuple[str, ...], code: int, sentence: str, gguf: str
) -> None:
    result = talk(gguf, "", ScriptedLM(), *flags)

    assert result.exit_code == code
    assert sentence in result.stderr


def test_unsaved_line_chat_goes_on_and_says_where_the_text_is(gguf: str) -> None:
    store = HistoryStore.open(history_path())
    store._connection.execute("PRAGMA user_version = 99")
    store.close()

    result = talk(gguf, "Hi\n", ScriptedLM(["Hello."]))

    assert result.stdout == "Hello.\n"
    assert "the history was written by a newer edgespec" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("not saved: the history was written by")
    (kept,) = history_path().parent.glob("unsaved-chats-*.json")
    assert result.stderr.endswith(f"the text is kept in {kept}\n")


def test_question_on_the_command_line_is_not_kept(gguf: str) -> None:
    lm = ScriptedLM()

    CliRunner().invoke(cli, ["-m", gguf, "-p", "Hi"], obj=Doors(load=lambda *_, **__: lm))

    assert not history_path().exists()


def test_line_chat_goes_on_with_another_model(gguf: str, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF")
    loaded: list[str] = []

    def load(target: object, **_: object) -> ScriptedLM:
        loaded.append(Path(str(target)).name)
        return ScriptedLM([f"From {loaded[-1]}."])

    typed = f"Hi\n/model {other}\nAgain\n/model no-such-model\n"
    result = CliRunner().invoke(cli, ["--plain", "-m", gguf], obj=Doors(load=load), input=typed)

    assert loaded == ["m.gguf", "other.gguf"]
    assert result.stdout == "From m.gguf.\nFrom other.gguf.\n"
    assert "no-such-model" in result.stderr


def test_line_chat_tells_why(gguf: str) -> None:
    assert "no answer yet" in talk(gguf, "/why\n", ScriptedLM()).stderr
