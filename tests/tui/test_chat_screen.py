import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from edgespec.api.types import LanguageModel
from edgespec.chat.controller import LoadProgress
from edgespec.errors import DecodeFailed, ModelNotFound
from tests.scripted import DESCRIPTION, Script, ScriptedLM
from tests.tui.stage import played, staged

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
    model = ScriptedLM([COUNTING])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")

            await stage.pilot.press("ctrl+q")

    played(scenario)

    assert model.streams[0].stats.finish_reason == "cancelled"
    assert model.is_closed
    assert not [t for t in threading.enumerate() if t.name.startswith("edgespec-")]


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


def test_message_typed_while_loading_is_answered() -> None:
    may_load = threading.Event()

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        tell(LoadProgress("loading qwen3-14b", 0.5))
        may_load.wait()
        return ScriptedLM(["Good morning."])

    async def scenario() -> None:
        async with staged() as stage:
            stage.chat.load(open_model)
            await stage.say("early bird")
            await stage.until_shown("loading qwen3-14b ▓▓▓▓░░░░ 50%")
            may_load.set()
            await stage.until_shown("Good morning.")
            await stage.until_ended()

            assert "qwen3-14b Q4_K_M" in stage.rows()[0]

    played(scenario)


def test_escape_takes_back_a_message_that_waits_for_the_model() -> None:
    may_load, model = threading.Event(), ScriptedLM()

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        may_load.wait()
        return model

    async def scenario() -> None:
        async with staged() as stage:
            stage.chat.load(open_model)
            await stage.say("too early")
            await stage.until_shown("Esc takes it back")
            await stage.pilot.press("escape")
            await stage.until(lambda: stage.prompt.text == "too early")
            may_load.set()
            await stage.until_shown("READY")

            assert "you ▸" not in stage.text()

    played(scenario)

    assert model.requests == []


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
def test_loading_is_shown_at_every_width(size: tuple[int, int]) -> None:
    may_load = threading.Event()

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        tell(LoadProgress("measuring", 0.5))
        may_load.wait()
        return ScriptedLM()

    async def scenario() -> None:
        async with staged(size=size) as stage:
            stage.chat.load(open_model)
            await stage.say("early bird")
            await stage.until_shown("measuring ▓▓▓▓░░░░ 50%")

            assert "draft NONE" not in stage.text()
            assert "[waits; Esc takes it back]" in stage.text()
            may_load.set()
            await stage.until_ended()
            assert "[waits" not in stage.text()

    played(scenario)


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
def test_prompt_of_the_first_turn_is_shown_being_read_at_every_width(
    size: tuple[int, int],
) -> None:
    model = ScriptedLM([Script("Never.", hold_at=1)])

    async def scenario() -> None:
        async with staged(model, size=size) as stage:
            await stage.say("a long prompt")

            await stage.until_shown("reading prompt")
            model.release()

    played(scenario)


def test_failed_load_shows_why_and_keeps_the_message() -> None:
    may_fail = threading.Event()

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        may_fail.wait()
        raise ModelNotFound("there is no file x.gguf", hint="edgespec models lists what is here")

    async def scenario() -> None:
        async with staged() as stage:
            stage.chat.load(open_model)
            await stage.say("hello?")
            await stage.until_shown("you ▸ hello?")
            may_fail.set()
            await stage.until_shown("error: there is no file x.gguf")
            await stage.until(lambda: stage.prompt.text == "hello?")
            await stage.until_shown("choose another model")
            await stage.pilot.press("escape")
            await stage.until_shown("edgespec models lists what is here")

            assert "you ▸" not in stage.text()
            assert "the model could not be loaded" in stage.text()
            assert "the last answer failed" not in stage.text()

    played(scenario)


def test_f5_forces_the_draft_then_switches_it_off() -> None:
    model = ScriptedLM(["An answer."])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.pilot.press("f5")
            await stage.until_shown("draft ON model (forced)")
            await stage.pilot.press("f5")
            await stage.until_shown("draft OFF (you)")
            await stage.say("plain please")
            await stage.until_ended()

            assert "no drafts" not in stage.text()
            assert "accept" not in stage.text()

    played(scenario)

    assert model.requests[0].options.drafter == "none"


def test_f5_forces_drafts_in_the_answer_under_way() -> None:
    model = ScriptedLM([Script("one two three four five six seven eight", hold_at=4)])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("go")
            await stage.until_shown("one")
            await stage.pilot.press("f5")
            await stage.until_shown("draft ON model (forced)")
            model.release()
            await stage.until_ended()

    played(scenario)

    assert model.streams[0].modes == ["auto", "on"]


def test_note_about_the_draft_leaves_the_last_round_its_place() -> None:
    noted = replace(DESCRIPTION, drafter_note="the draft model is left out: it costs too much")

    async def scenario() -> None:
        async with staged(ScriptedLM(["An answer."], description=noted)) as stage:
            await stage.say("go")
            await stage.until_ended()
            strip = next(row for row in stage.rows() if row.startswith(" draft "))

            assert "left out" not in strip
            assert "✓" in strip or "✗" in strip

    played(scenario)


def test_side_panel_keeps_the_note_about_the_draft() -> None:
    noted = replace(DESCRIPTION, drafter_note="the draft model is left out")

    async def scenario() -> None:
        async with staged(ScriptedLM(description=noted), size=(120, 34)) as stage:
            await stage.pilot.press("ctrl+n")
            await stage.until_shown("note: the draft model is left out")

    played(scenario)


def test_drafter_that_is_not_in_force_says_why() -> None:
    lonely = replace(DESCRIPTION, draft=None, drafter="none", drafter_note="vocabularies differ")

    async def scenario() -> None:
        async with staged(ScriptedLM(description=lonely)) as stage:
            await stage.until_shown("draft NONE (vocabularies differ)")

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


def test_ctrl_c_stops_then_clears_then_quits_with_130() -> None:
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
