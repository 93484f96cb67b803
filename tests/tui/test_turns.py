"""What a person does with a turn: select, copy, edit, branch, delete, look at its tokens."""

import pytest
from edgespec.tui import log
from textual.events import Key

from tests.scripted import Script, ScriptedLM, StuckLM
from tests.tui.stage import Stage, played, staged

CODE = "Look:\n\n```python\nx = 1\n```\n\nor\n\n```sh\nls **\n```\n"


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were copied."""
    seen: list[str] = []

    def copy(text: str, *how: object, **more: object) -> str:
        seen.append(text)
        return "copied"

    monkeypatch.setattr("edgespec.tui.clipboard.copy", copy)
    return seen


async def selected(stage: Stage) -> None:
    """Answer one message and select its turn."""
    await stage.say("go")
    await stage.until_ended()
    await stage.pilot.press("tab")
    await stage.until(lambda: stage.app.focused is stage.views[-1])


def test_copy_gives_the_raw_answer(copied: list[str]) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([CODE])) as stage:
            await selected(stage)
            await stage.pilot.press("y")
            await stage.until(lambda: bool(copied))

    played(scenario)

    assert copied == [CODE]


def test_copying_code_again_takes_the_next_block(copied: list[str]) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([CODE])) as stage:
            await selected(stage)
            for _ in range(3):
                await stage.pilot.press("Y")

    played(scenario)

    assert copied == ["x = 1", "ls **", "x = 1"]


def test_edited_message_is_a_branch_beside_the_old_one() -> None:
    model = ScriptedLM(["First.", "Second."])

    async def scenario() -> None:
        async with staged(model) as stage:
            await selected(stage)
            await stage.pilot.press("e")
            assert stage.prompt.text == "go"

            await stage.say("go further")
            await stage.until_shown("Second.")
            await stage.until_ended()

            assert "branch 2/2 [ ]" in stage.text()
            assert "First." not in stage.text()

    played(scenario)

    assert [m["content"] for m in model.requests[1].messages] == ["go further"]


def test_escape_gives_up_an_edit() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["First.", "Second."])) as stage:
            await selected(stage)
            await stage.pilot.press("e", "escape")
            await stage.say("another")
            await stage.until_shown("Second.")

            assert "First." in stage.text()

    played(scenario)


def test_deleted_turn_comes_back() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["First."])) as stage:
            await selected(stage)
            await stage.pilot.press("d")
            await stage.until(lambda: not stage.views)
            await stage.say("/undo")
            await stage.until_shown("First.")

    played(scenario)


def test_token_view_shows_sources_without_colour() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["one two three four five"])) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("f6")
            await stage.until_shown("accepted draft")
            strips = stage.app.screen._compositor.render_strips()
            looks = {
                segment.text.strip(): (bool(segment.style.underline), bool(segment.style.bold))
                for strip in strips
                for segment in strip
                if segment.style is not None
            }

            # the script accepts three, then says one of its own
            assert [looks[w] for w in ("one", "two", "three", "four")] == [
                (True, False), (True, False), (True, False), (False, True),
            ]  # fmt: skip

    played(scenario)


def test_earlier_turns_come_back_when_a_person_scrolls_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_TURNS", 2)

    async def scenario() -> None:
        async with staged(ScriptedLM(["An answer.\n\nOf three\n\nlines."])) as stage:
            for message in ("one", "two", "three", "four", "five"):
                await stage.say(message)
                await stage.until_ended()
            assert "earlier turn" in stage.text() or len(stage.views) == 2
            for _ in range(6):
                await stage.pilot.press("pageup")
                await stage.pilot.pause(0.02)
            await stage.until_shown("you ▸ one")

            assert len(stage.views) == 5

    played(scenario)


def test_opened_chat_shows_its_answers_at_once() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["# Title\n\n**bold** words"])) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.app.screen_stack[0].log_view.show(stage.chat.turns)
            await stage.until_shown("bold words")

    played(scenario)


def test_thinking_is_counted_while_it_lasts() -> None:
    model = ScriptedLM([Script("Yes.", reasoning="one two three four five six", hold_at=4)])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("think")
            await stage.until_shown("one two three")
            await stage.until_shown("thinking… 0.1 s · 4 tok")

            model.release()
            await stage.until_ended()
            assert "one two three" not in stage.text()

    played(scenario)


def test_keys_walk_over_the_tokens_and_say_where_each_came_from() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["one two three four five six"])) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("f6", "tab", "right")
            await stage.until_shown("step 1: draft token 1, accepted")
            await stage.pilot.press("right", "right", "right")
            await stage.until_shown("step 1: the target's own, after 3 accepted")
            strips = stage.app.screen._compositor.render_strips()
            pointed = [s.text for strip in strips for s in strip if s.style and s.style.reverse]
            await stage.pilot.press("escape")

            assert any("four" in text for text in pointed)
            assert "step 1" not in stage.text()

    played(scenario)


def test_token_keys_say_what_is_missing() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("tab", "right")
            await stage.until_shown("F6 shows the tokens first")

    played(scenario)


async def after_two(stage: Stage) -> None:
    """Have two messages answered."""
    for message in ("one", "two"):
        await stage.say(message)
        await stage.until_ended()


def test_tab_goes_to_the_newest_turn_and_back() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await after_two(stage)
            await stage.pilot.press("tab")
            first = stage.app.focused
            await stage.pilot.press("tab")

            assert first is stage.views[-1]
            assert stage.app.focused is stage.prompt

    played(scenario)


def test_turn_that_is_answered_again_stays_selected() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["First.", "Second."])) as stage:
            await selected(stage)
            await stage.pilot.press("r")
            await stage.until_shown("branch 2/2 [ ]")
            await stage.until_ended()
            await stage.pilot.press("left_square_bracket")
            await stage.until_shown("branch 1/2 [ ]")

            assert "First." in stage.text()
            assert stage.app.focused is stage.views[0]

    played(scenario)


def test_turn_that_is_brought_back_is_selected() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await after_two(stage)
            await stage.pilot.press("tab", "k", "d")
            await stage.until(lambda: len(stage.views) == 1)
            await stage.pilot.press("u")
            await stage.until(lambda: len(stage.views) == 2)
            await stage.pilot.pause()

            assert stage.app.focused is stage.views[0]

    played(scenario)


@pytest.mark.parametrize("end", ["escape", "enter"])
def test_edit_gives_back_what_was_being_written_before(end: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await selected(stage)
            stage.prompt.put("half a thought")
            await stage.pilot.press("e")
            during = stage.prompt.text
            await stage.pilot.press(end)
            await stage.until(lambda: stage.prompt.text != during)

            assert during == "go"
            assert stage.prompt.text == "half a thought"

    played(scenario)


def test_edit_that_is_given_up_comes_back_with_undo() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await selected(stage)
            await stage.pilot.press("e", "!", "escape", "ctrl+z")

            assert stage.prompt.text == "go!"

    played(scenario)


def test_new_chat_ends_an_edit_and_keeps_its_words() -> None:
    model = ScriptedLM()

    async def scenario() -> None:
        async with staged(model) as stage:
            await after_two(stage)
            await stage.pilot.press("tab", "e", "ctrl+n")
            await stage.until(lambda: not stage.views)
            title = stage.prompt.border_title
            await stage.pilot.press("enter")
            await stage.until(lambda: bool(stage.views))
            await stage.until_ended()

            assert not title
            assert [turn.prompt for turn in stage.chat.turns] == ["two"]

    played(scenario)

    assert [m["content"] for m in model.requests[2].messages] == ["two"]


def test_tokens_of_another_branch_are_still_known() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["one two three four", "five six"])) as stage:
            await selected(stage)
            await stage.pilot.press("r")
            await stage.until_shown("branch 2/2 [ ]")
            await stage.until_ended()
            await stage.pilot.press("left_square_bracket", "f6")

            await stage.until_shown("accepted draft")

    played(scenario)


def test_typing_over_a_turn_goes_to_the_prompt() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await after_two(stage)
            await stage.pilot.press("tab", "k", "日", "k", "y")
            await stage.until(lambda: stage.prompt.text == "日ky")

            assert stage.app.focused is stage.prompt

    played(scenario)


def test_burst_of_letters_over_a_turn_goes_to_the_prompt_whole() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await after_two(stage)
            await stage.pilot.press("tab")
            for character in "Say it, do edit":  # y, d and e are keys of a turn
                stage.app.post_message(Key(character, character))
            await stage.until(lambda: stage.prompt.text.endswith("edit"))

            assert stage.prompt.text == "Say it, do edit"
            assert len(stage.chat.turns) == 2

    played(scenario)


def test_second_escape_goes_to_the_prompt_while_the_answer_stops() -> None:
    model = StuckLM(["First.", Script("one two three four five six", hold_at=4)])

    async def scenario() -> None:
        async with staged(model) as stage:
            await selected(stage)
            await stage.pilot.press("r")
            await stage.until_shown("one two")
            await stage.pilot.press("escape", "escape")
            await stage.until(lambda: stage.app.focused is stage.prompt)

            assert stage.chat.state == "STOPPING"
            model.release()
            await stage.until_ended()

    played(scenario)


def test_deleting_and_bringing_back_tells_what_is_true_then() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["First.", "Second."])) as stage:
            await after_two(stage)
            await stage.pilot.press("tab", "d")
            await stage.until_shown("deleted; u or /undo brings it back")
            await stage.pilot.press("u")
            await stage.until_shown("it is back")
            assert "deleted;" not in stage.text()

            await stage.pilot.press("u")
            await stage.until_shown("there is nothing to bring back")

            await stage.pilot.press("d", "d")
            await stage.until_shown("deleted; /undo brings it back")

    played(scenario)
