"""The list of commands above the prompt: marking one, taking it, closing the list."""

import pytest

from tests.scripted import ScriptedLM
from tests.tui.stage import Stage, played, staged


async def typed(stage: Stage, *keys: str) -> None:
    """Press keys, a "/" among them by its character."""
    await stage.pilot.press(*("slash" if key == "/" else key for key in keys))
    await stage.pilot.pause()


def test_tab_takes_the_marked_command() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await typed(stage, "/", "s")
            await stage.until_shown("▸ /show")
            await typed(stage, "down")
            await stage.until_shown("▸ /stats")
            await typed(stage, "tab")

            assert stage.prompt.text == "/stats "
            assert "▸ /" not in stage.text()

    played(scenario)


def test_enter_does_the_marked_command() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await typed(stage, "/", "s", "down", "enter")
            await stage.until_shown("no answer yet")

            assert stage.prompt.text == ""

    played(scenario)


def test_enter_waits_for_what_a_command_needs() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await typed(stage, "/", "g", "a", "enter")
            waiting = stage.prompt.text
            await typed(stage, "4", "enter")
            await stage.until_shown("draft_len = 4")

            assert waiting == "/gamma "

    played(scenario)


def test_name_typed_whole_is_what_is_done() -> None:
    model = ScriptedLM()

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("go")
            await stage.until_ended()
            await typed(stage, "/", "n", "e", "w", "enter")
            await stage.until(lambda: not stage.views)

    played(scenario)

    assert len(model.requests) == 1


def test_list_follows_the_mark_round_the_end() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await typed(stage, "/")
            await stage.until_shown("▸ /help")
            first = stage.text()
            await typed(stage, "up")
            await stage.until_shown("▸ /quit")

            assert "/quit" not in first
            assert "more" in first
            assert "/help " not in stage.text()

    played(scenario)


def test_escape_closes_the_list_and_nothing_is_completed() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await typed(stage, "/", "s", "t", "a")
            await stage.until_shown("▸ /stats")
            await typed(stage, "escape")
            closed = stage.text()
            await typed(stage, "enter")
            await stage.until_shown("did you mean /stats?")

            assert "▸ /stats" not in closed
            assert stage.prompt.text == "/sta"

    played(scenario)


def test_recalled_command_does_not_catch_the_up_key() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.say("first")
            await stage.until_ended()
            await stage.say("/stats")
            await stage.until_shown("tokens, passes")
            await typed(stage, "up")
            recalled = stage.prompt.text
            await typed(stage, "up")

            assert (recalled, stage.prompt.text) == ("/stats", "first")

    played(scenario)


@pytest.mark.parametrize("is_ascii", [False, True])
def test_mark_is_a_sign(is_ascii: bool) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), is_ascii=is_ascii, can_color=False) as stage:
            await typed(stage, "/", "s")
            await stage.until_shown("> /show" if is_ascii else "▸ /show")

            assert "  /stats" in stage.text()

    played(scenario)
