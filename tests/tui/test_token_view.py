"""The token view: what stays on the screen while a person walks through a long answer."""

import pytest

from edgespec.chat.controller import Turn
from edgespec.events import Delta, TokenText
from tests.scripted import ScriptedLM
from tests.tui.stage import played, staged

LONG = "\n".join(f"line{i} goes on" for i in range(30))
LEGEND = "accepted draft  ·  the target's own  ·  without a draft"


def test_legend_stays_where_the_text_scrolls() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([LONG]), size=(60, 18)) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("f6")
            await stage.until_shown(LEGEND)
            await stage.until_shown("line29 goes")
            await stage.pilot.press("pageup", "pageup", "pageup")
            await stage.until(lambda: "line29" not in stage.text())
            assert LEGEND in stage.text()
            await stage.pilot.press("f6")
            await stage.until(lambda: LEGEND not in stage.text())

    played(scenario)


def test_token_that_the_keys_point_at_is_scrolled_to() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([LONG]), size=(80, 24)) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("f6", "tab", "right")
            await stage.until_shown("line0 goes")
            assert "line29" not in stage.text()
            for _ in range(3 * 30 - 1):
                await stage.pilot.press("right")
            await stage.until_shown("line29 goes")

    played(scenario)


def test_tokens_that_come_before_their_view_are_not_lost() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            feed, early = stage.app.screen_stack[0].feed, TokenText(1, "early", "plain")
            turn = Turn("hi", "running", "early")
            await feed.draw([Delta("text", "early", (early,))])
            await feed.begin(turn)

            assert stage.views[-1].tokens == [early]

    played(scenario)


@pytest.mark.parametrize("keys", [["f6"], ["k"], ["x"]])
def test_words_about_a_token_go_when_something_else_is_looked_at(keys: list[str]) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["one two three", "four five six"])) as stage:
            for _ in range(2):
                await stage.say("go")
                await stage.until_ended()
            await stage.pilot.press("f6", "tab", "right")
            await stage.until_shown("draft token 1, accepted")
            await stage.pilot.press(*keys)
            await stage.until(lambda: "draft token 1" not in stage.text())

    played(scenario)
