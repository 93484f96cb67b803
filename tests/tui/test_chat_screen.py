import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from edgespec.api.types import LanguageModel
from edgespec.chat.controller import LoadProgress
from edgespec.errors import DecodeFailed
from tests.scripted import DESCRIPTION, Script, ScriptedLM, StuckLM
from tests.tui.stage import PATIENCE_S, played, staged

COUNTING = Script("one two three four five six seven eight nine ten", hold_at=4)


def test_escape_while_answering_keeps_the_partial_text() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([COUNTING])) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")

            await stage.pilot.press("escape")
            await stage.until_shown("[stopped]")

            assert "one two three four\n" in stage.text()
            assert stage.chat.turns[0].status == "stopped"

    played(scenario)


def test_escape_during_prefill_stops_and_the_message_comes_back_with_up() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([Script("Never.", hold_at=1)])) as stage:
            await stage.say("a long prompt")
            await stage.until_shown("reading prompt")

            await stage.pilot.press("escape")
            await stage.until_shown("[stopped]")
            await stage.pilot.press("up")

            assert stage.prompt.text == "a long prompt"

    played(scenario)


def test_quit_while_answering_cancels_and_frees_the_model() -> None:
    model, before = ScriptedLM([COUNTING]), set(threading.enumerate())

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")

            await stage.pilot.press("ctrl+q")

    played(scenario)

    assert model.streams[0].stats.finish_reason == "cancelled"
    assert model.is_closed
    left = set(threading.enumerate()) - before
    for thread in left:
        thread.join(PATIENCE_S)
    assert not [thread for thread in left if thread.is_alive()]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("/darft off", "did you mean /draft?"),
        ("/usr/bin/env", "start with // to send it as text"),
    ],
)
def test_unknown_command_gets_a_suggestion_and_is_not_sent(line: str, answer: str) -> None:
    model = ScriptedLM()

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say(line)
            await stage.until_shown(answer)

            assert stage.prompt.text == line

    played(scenario)

    assert model.requests == []


def test_error_is_a_sentence_with_a_hint_and_gives_the_message_back() -> None:
    failing = Script("", error=DecodeFailed("llama_decode: [/] no memory", hint="try --ctx 2048"))

    async def scenario() -> None:
        async with staged(ScriptedLM([failing])) as stage:
            await stage.say("my long message")
            await stage.until_shown("error: llama_decode: [/] no memory")
            await stage.until(lambda: stage.prompt.text == "my long message")

            await stage.until_shown("answer it again")
            await stage.until_shown("try --ctx 2048")
            await stage.until(lambda: "ERROR" in stage.rows()[-2])

    played(scenario)


def test_overflow_names_both_numbers_and_gives_the_message_back() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(n_tokens=9214)) as stage:
            await stage.say("too long")
            await stage.until_shown("the prompt has 9,214 tokens, but the context holds 8,192")
            await stage.until(lambda: stage.prompt.text == "too long")

    played(scenario)


def test_context_word_warns_with_a_sign_from_four_fifths() -> None:
    small = replace(DESCRIPTION, n_ctx=10)

    async def scenario() -> None:
        async with staged(ScriptedLM(["one two three"], description=small)) as stage:
            await stage.say("hello")
            await stage.until_ended()

            assert "8/10 80% !" in stage.rows()[0]
            assert "the context is 80% full" in stage.text()

    played(scenario)


def test_ctrl_t_switches_thinking_of_the_next_answer() -> None:
    model = ScriptedLM([Script("Yes.", reasoning="Hm.")])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.pilot.press("ctrl+t")
            await stage.until_shown("thinking OFF")
            await stage.say("really?")
            await stage.until_ended()

            assert "thought for" not in stage.text()

    played(scenario)

    assert model.requests[0].options.think is False


def test_reasoning_is_folded_once_the_answer_starts_and_unfolds() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([Script("Yes.", reasoning="Let me think hard.")])) as stage:
            await stage.say("really?")
            await stage.until_ended()
            before = stage.text()
            await stage.pilot.press("ctrl+o")
            await stage.until_shown("Let me think hard.")

            assert "▸ thought for 0.1 s · 4 tok" in before
            assert "Let me think hard." not in before

    played(scenario)


def test_ctrl_n_starts_a_new_chat_even_while_answering() -> None:
    model = ScriptedLM([COUNTING, "Fresh."])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")
            await stage.pilot.press("ctrl+n")
            await stage.say("new")
            await stage.until_shown("Fresh.")

            assert "one two" not in stage.text()

    played(scenario)

    assert [m["content"] for m in model.requests[1].messages] == ["new"]


def test_regenerate_is_a_branch_and_the_old_answer_stays_beside_it() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["First.", "Second."])) as stage:
            await stage.say("Which?")
            await stage.until_ended()
            await stage.say("/regen")
            await stage.until_shown("Second.")
            await stage.until_ended()

            assert "First." not in stage.text()
            assert "branch 2/2 [ ]" in stage.text()

            stage.views[0].focus()
            await stage.pilot.press("left_square_bracket")
            await stage.until_shown("First.")

            assert "branch 1/2 [ ]" in stage.text()

    played(scenario)


def test_message_written_while_answering_waits_and_is_answered_next() -> None:
    model = ScriptedLM([COUNTING, "And eleven."])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")
            await stage.say("and then?")
            await stage.until_shown("[waits; Esc takes it back]")
            model.release()
            await stage.until_shown("And eleven.")
            await stage.until_ended()

            assert "seven eight nine ten" in stage.text()

    played(scenario)


def test_third_message_stays_in_the_prompt() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([COUNTING])) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")
            await stage.say("second")
            await stage.say("third")

            assert stage.prompt.text == "third"
            assert len(stage.chat.turns) == 2

    played(scenario)


def test_message_that_is_taken_back_is_told_and_kept_beside_a_text() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([COUNTING])) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")
            await stage.say("second")
            stage.prompt.put("third")
            await stage.pilot.press("escape")
            await stage.until_shown("Up brings it")
            before = stage.prompt.text
            await stage.pilot.press("up")

            assert (before, stage.prompt.text) == ("third", "second")

    played(scenario)


def test_ctrl_c_stops_then_clears_then_quits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgespec.tui.actions.QUIT_AGAIN_S", PATIENCE_S)

    async def scenario() -> None:
        async with staged(ScriptedLM([COUNTING])) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")
            stage.prompt.put("draft of a message")

            await stage.pilot.press("ctrl+c")
            await stage.until_shown("[stopped]")
            kept = stage.prompt.text
            await stage.pilot.press("ctrl+c")
            cleared = stage.prompt.text
            await stage.pilot.press("ctrl+c", "ctrl+c")

            assert (kept, cleared) == ("draft of a message", "")
            assert stage.app.return_code == 130

    played(scenario)


def test_side_panel_is_hidden_by_its_key_and_shown_again() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), size=(120, 34)) as stage:
            await stage.until_shown("SPECULATIVE")
            await stage.pilot.press("f7")
            await stage.until(lambda: "SPECULATIVE" not in stage.text())
            await stage.pilot.press("f7")
            await stage.until_shown("SPECULATIVE")

    played(scenario)


def test_side_panel_without_room_is_not_hidden_unseen() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), size=(80, 24)) as stage:
            await stage.pilot.press("f7")
            await stage.until_shown("the side panel needs 100 columns; here are 80")
            await stage.pilot.resize_terminal(120, 34)
            await stage.until_shown("SPECULATIVE")

    played(scenario)


@pytest.mark.parametrize("text", ["", "a draft"])
def test_ctrl_c_quits_also_where_an_answer_does_not_stop(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgespec.tui.actions.QUIT_AGAIN_S", PATIENCE_S)
    model = StuckLM([COUNTING])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")
            stage.prompt.put(text)
            await stage.pilot.press(*["ctrl+c"] * (3 + bool(text)))

            assert stage.app.return_code == 130
            model.release()

    played(scenario)


def test_ctrl_c_while_loading_clears_then_stops_the_load_then_quits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("edgespec.tui.actions.QUIT_AGAIN_S", PATIENCE_S)
    may_load = threading.Event()

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        may_load.wait()
        return ScriptedLM()

    async def scenario() -> None:
        async with staged() as stage:
            stage.chat.load(open_model)
            stage.prompt.put("a draft")
            await stage.pilot.press("ctrl+c")
            after_one = (stage.prompt.text, stage.chat.progress.phase)
            await stage.pilot.press("ctrl+c")
            await stage.until_shown("giving up loading")
            await stage.pilot.press("ctrl+c", "ctrl+c")

            assert after_one == ("", "starting")
            assert stage.app.return_code == 130
            may_load.set()

    played(scenario)
