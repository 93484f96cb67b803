"""Writing a message: line breaks, earlier messages, completion."""

from pathlib import Path

import pytest
from textual.events import Key, Paste
from textual.keys import _character_to_key as character_to_key

from edgespec.chat.controller import ChatController
from edgespec.history.library import Library
from edgespec.history.store import HistoryStore
from tests.chats import chat, turn
from tests.scripted import ScriptedLM
from tests.tui.stage import played, staged


@pytest.mark.parametrize("key", ["ctrl+j", "alt+enter", "shift+enter"])
def test_newline_key_breaks_the_line_where_it_was_pressed(key: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            for event in (Key("a", "a"), Key(key, None), Key("b", "b")):
                stage.app.post_message(event)  # without waiting: as a fast typist or tmux does
            await stage.until(lambda: "b" in stage.prompt.text)

            assert stage.prompt.text == "a\nb"

    played(scenario)


def test_enter_after_a_backslash_breaks_the_line() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.say("first\\")

            assert stage.prompt.text == "first\n"

    played(scenario)


def test_history_goes_back_and_returns_to_the_unsent_text() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            for message in ("one", "two"):
                await stage.say(message)
                await stage.until_ended()
            stage.prompt.put("unsent")
            seen = []
            for key in ("up", "up", "up", "down", "down"):
                await stage.pilot.press(key)
                seen.append(stage.prompt.text)

            assert seen == ["two", "one", "one", "two", "unsent"]

    played(scenario)


def test_up_goes_on_with_messages_of_earlier_chats(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path / "history.db")
    store.save([chat("aaaaaaaa")], [turn("t1", "of old", chat_id="aaaaaaaa")])
    store.close()

    async def scenario() -> None:
        controller = ChatController(library=Library(tmp_path / "history.db"))
        async with staged(ScriptedLM(), chat=controller) as stage:
            await stage.say("new")
            await stage.until_ended()
            await stage.pilot.press("up", "up")

            assert stage.prompt.text == "of old"

    played(scenario)


def test_tab_completes_a_command() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            stage.prompt.put("/sta")
            await stage.until_shown("figures of the last answer")
            await stage.pilot.press("tab")

            assert stage.prompt.text == "/stats "

    played(scenario)


def test_line_of_a_megabyte_is_pasted_whole_and_not_wrapped_while_it_is_there() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            wraps = [stage.prompt.soft_wrap]
            stage.app.post_message(Paste("x" * 1_000_000))
            await stage.until(lambda: bool(stage.prompt.text))
            wraps.append(stage.prompt.soft_wrap)
            n_pasted = len(stage.prompt.text)
            stage.prompt.text = "short"
            await stage.until(lambda: stage.prompt.soft_wrap)

            assert n_pasted == 1_000_000
            assert wraps == [True, False]

    played(scenario)


@pytest.mark.parametrize("text", ["می\u200cخواهم", "👩\u200d👧"])
def test_joiners_that_are_typed_stay_in_the_message(text: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            for character in text:
                stage.app.post_message(Key(character_to_key(character), character))
            await stage.pilot.pause()
            await stage.until(lambda: len(stage.prompt.text) >= len(text) - 1)

            assert stage.prompt.text == text

    played(scenario)
