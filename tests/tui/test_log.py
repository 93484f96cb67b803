"""The scrolling conversation."""

import gc
import warnings

import pytest
from edgespec.tui import log

from edgespec.chat.controller import ChatController, Turn
from tests.scripted import ScriptedLM
from tests.tui.stage import played, staged


def test_scrolling_up_leaves_the_view_alone_and_says_that_there_is_more() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["line\n\n" * 60])) as stage:
            await stage.say("long")
            await stage.until_ended()
            await stage.pilot.press("pageup", "pageup")
            await stage.until_shown("lines below")
            await stage.pilot.press("ctrl+end")
            await stage.until(lambda: "lines below" not in stage.text())

    played(scenario)


def test_oldest_turns_leave_the_screen_but_not_the_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log, "MAX_TURNS", 2)
    model = ScriptedLM(["An answer."])

    async def scenario() -> None:
        async with staged(model) as stage:
            for message in ("one", "two", "three", "four"):
                await stage.say(message)
                await stage.until_ended()

            assert [view.turn.prompt for view in stage.views] == ["three", "four"]
            assert "2 earlier turns: scroll up" in stage.text()

    played(scenario)

    assert len(model.requests[-1].messages) == 7


def test_short_saved_chat_shows_its_answers() -> None:
    chat = ChatController()
    chat.conversation.tree.add(Turn("Hi", "complete", "An earlier answer.", "It was thought over."))

    async def scenario() -> None:
        async with staged(ScriptedLM(), chat=chat) as stage:
            await stage.until_shown("An earlier answer.")
            await stage.until_shown("thought first  (Ctrl+O)")

    played(scenario)


def test_deleted_turn_comes_back_with_its_answer() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["An answer."])) as stage:
            await stage.say("one")
            await stage.until_ended()
            await stage.say("/remove")
            await stage.until(lambda: not stage.views)
            await stage.say("/undo")
            await stage.until_shown("An answer.")

    played(scenario)


def test_step_that_is_taken_again_at_once_leaves_no_work_behind() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("tab")
            for _ in range(2):  # the second ends the first before it has begun
                stage.app.screen.log_view.action_step(-1)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        played(scenario)
        gc.collect()

    assert not [one for one in told if "never awaited" in str(one.message)]
