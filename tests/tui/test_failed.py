"""What the screen says when a load or an answer fails, and where it leads."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from edgespec.tui.failed import FailedScreen, report
from edgespec.tui.shelf import Models
from textual.events import Key, Paste

from edgespec.api.types import LanguageModel
from edgespec.chat import workers
from edgespec.chat.controller import ChatController, LoadProgress
from edgespec.chat.shelf import ModelChange
from edgespec.chat.trouble import Failure
from edgespec.errors import DecodeFailed, DoesNotFit
from tests.scripted import DESCRIPTION, Script, ScriptedLM, StuckLM
from tests.tui.stage import Stage, assert_golden, played, staged
from tests.unit.test_chat_trouble import Lighter

SHORT = DoesNotFit("[/] 9.0 GB are needed, 4.0 are free", hint="try --ctx 2048")


def refuse(tell: Callable[[LoadProgress], None]) -> LanguageModel:
    raise SHORT


def after_failed_load(
    test: Callable[[Stage, Lighter], Coroutine[Any, Any, None]], size: tuple[int, int] = (80, 24)
) -> None:
    async def scenario() -> None:
        shelf = Lighter()
        chat = ChatController(shelf=shelf)
        chat.load(refuse)
        async with staged(chat=chat, size=size) as stage:
            await stage.until(lambda: isinstance(stage.app.screen, FailedScreen))
            await stage.until_shown("choose another model")
            await test(stage, shelf)

    played(scenario)


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 34)])
def test_failed_load_is_told_with_the_ways_on(size: tuple[int, int]) -> None:
    async def test(stage: Stage, shelf: Lighter) -> None:
        rows = stage.rows()
        top = next(i for i, row in enumerate(rows) if "The model could not be loaded" in row)
        box = [row.strip() for row in rows[top:] if row.strip().startswith(("╭", "│", "╰"))]
        end = next(i for i, row in enumerate(box) if "Ctrl+E" in row)
        assert_golden(f"failed-{size[0]}x{size[1]}", "\n".join(box[: end + 1]))

    after_failed_load(test, size)


def test_chosen_way_loads_the_model_otherwise() -> None:
    async def test(stage: Stage, shelf: Lighter) -> None:
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: stage.chat.state == "READY")

        assert shelf.taken[0].n_ctx == 4096

    after_failed_load(test)


def test_escape_leaves_the_error_in_the_chat() -> None:
    async def test(stage: Stage, shelf: Lighter) -> None:
        await stage.pilot.press("escape")
        await stage.until_shown("Enter tries again")

        assert "[/] 9.0 GB are needed" in stage.text()
        assert stage.app.focused is stage.prompt

    after_failed_load(test)


def test_failed_change_offers_the_ways_on_and_takes_one() -> None:
    async def scenario() -> None:
        shelf = Lighter()
        chat = ChatController(shelf=shelf)
        chat.load(lambda tell: ScriptedLM())
        async with staged(chat=chat) as stage:
            await stage.until(lambda: chat.state == "READY")
            take = shelf.take
            shelf.take = lambda change: refuse  # type: ignore[method-assign]
            chat.switch(ModelChange(target="other"))
            await stage.until_shown("The change failed: the model before is back")
            shelf.take = take  # type: ignore[method-assign]
            await stage.pilot.press("down", "enter")
            await stage.until(lambda: chat.model is shelf.model)

            assert shelf.taken == [ModelChange(n_ctx=4096)]

    played(scenario)


def test_who_is_typing_types_on() -> None:
    async def test(stage: Stage, shelf: Lighter) -> None:
        for character in "cold":
            stage.app.post_message(Key(character, character))  # without waiting, as people type
        await stage.until(lambda: stage.prompt.text == "cold")

        assert not isinstance(stage.app.screen, FailedScreen)
        assert shelf.taken == []

    after_failed_load(test)


def test_what_is_pasted_meanwhile_is_in_the_prompt() -> None:
    async def test(stage: Stage, shelf: Lighter) -> None:
        stage.app.post_message(Paste("two\nlines"))
        await stage.until(lambda: stage.prompt.text == "two\nlines")

        assert not isinstance(stage.app.screen, FailedScreen)

    after_failed_load(test)


def test_log_is_shown_and_a_report_is_copied() -> None:
    async def test(stage: Stage, shelf: Lighter) -> None:
        stage.app.recent_log.logged.append("12:00:00 ERROR ggml: out of memory")
        await stage.pilot.press("f8")
        await stage.until_shown("nothing was logged")  # what came later is not of this failure
        await stage.pilot.press("ctrl+e")
        await stage.until(lambda: "DoesNotFit" in (stage.app.clipboard or ""))

        assert "Python" in stage.app.clipboard

    after_failed_load(test)


def test_report_has_no_word_of_the_conversation() -> None:
    failure = Failure(SHORT, None, ())

    told = report(failure, ["12:00 INFO loaded"], DESCRIPTION)

    assert "qwen3-14b Q4_K_M + qwen3-0.6b Q8_0" in told
    assert "DoesNotFit: [/] 9.0 GB are needed" in told
    assert told.endswith("12:00 INFO loaded\n")


def test_failed_answer_can_be_given_again_from_where_it_is_told() -> None:
    async def scenario() -> None:
        model = ScriptedLM([Script("", error=DecodeFailed("no slot")), "Hello."])
        async with staged(model) as stage:
            await stage.say("Hi")
            await stage.until_shown("The answer failed")
            await stage.pilot.press("enter")
            await stage.until_shown("Hello.")

            assert stage.prompt.text == ""

    played(scenario)


def test_another_model_is_chosen_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))

    async def scenario() -> None:
        model = ScriptedLM([Script("", error=DecodeFailed("no slot"))])
        async with staged(model, models=Models(free_bytes=lambda: 8_000_000_000)) as stage:
            await stage.say("Hi")
            await stage.until_shown("The answer failed")
            await stage.pilot.press("down", "enter")
            await stage.until_shown("of memory are free")

    played(scenario)


def test_escape_gives_up_loading() -> None:
    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        while True:
            tell(LoadProgress("loading", 0.5))

    async def scenario() -> None:
        chat = ChatController()
        chat.load(open_model)
        async with staged(chat=chat) as stage:
            await stage.until_shown("loading")
            await stage.pilot.press("escape")
            await stage.until_shown("loading was stopped")

            assert stage.chat.state == "BOOT"

    played(scenario)


def test_second_escape_leaves_a_stuck_answer_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "FORCE_AFTER_S", 0.0)
    stuck = StuckLM([Script("one two three four five", hold_at=3)])
    models = iter([stuck, ScriptedLM(["Hello."])])

    async def scenario() -> None:
        chat = ChatController()
        chat.load(lambda tell: next(models))
        async with staged(chat=chat) as stage:
            await stage.until(lambda: chat.state == "READY")
            await stage.say("Hi")
            await stage.until_shown("one two three four")
            await stage.pilot.press("escape")
            await stage.until_shown("Esc again leaves it behind")
            await stage.pilot.press("escape")
            await stage.until_shown("[stopped]")
            await stage.until(lambda: chat.state == "READY")
            await stage.say("And now?")
            await stage.until_shown("Hello.")
        stuck.release()

    played(scenario)
