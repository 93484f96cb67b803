"""The chat's screen before its model is there."""

import threading
from collections.abc import Callable

import pytest

from edgespec.api.types import LanguageModel
from edgespec.chat.controller import LoadProgress
from edgespec.errors import ModelNotFound
from tests.scripted import Script, ScriptedLM
from tests.tui.stage import played, staged


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


def test_enter_without_a_message_loads_again() -> None:
    attempts: list[int] = []

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        attempts.append(1)
        if len(attempts) == 1:
            raise ModelNotFound(
                "there is no file x.gguf", hint="edgespec models lists what is here"
            )
        return ScriptedLM()

    async def scenario() -> None:
        async with staged() as stage:
            stage.chat.load(open_model)
            await stage.until_shown("choose another model")
            await stage.pilot.press("escape")
            await stage.until_shown("Enter tries again")
            await stage.pilot.press("enter")
            await stage.until_shown("qwen3-14b Q4_K_M")

    played(scenario)

    assert len(attempts) == 2
