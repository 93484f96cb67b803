"""What every screen keeps to: signs a terminal can show, a focus that is seen, nothing blinking."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from edgespec.tui.models import ModelsScreen
from edgespec.tui.shelf import Models
from rich.style import Style
from textual.widgets import Input, TextArea

from edgespec.chat.controller import ChatController
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from tests.scripted import DESCRIPTION, ScriptedLM
from tests.tui.stage import Stage, played, staged
from tests.tui.test_signs import contrast

ANSWER = "# Head\n\n- one\n  - two\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n" * 3
SCREENS = {
    "chat": ("", "READY"),
    "tokens": ("f6", "accepted draft"),
    "help": ("f1", "Writing"),
    "models": ("f2", "tok/s"),
    "chats": ("f3", "1 turn"),
    "params": ("f4", "temperature"),
    "log": ("f8", "s saves it"),
    "why": ("f9", "Tokens by where"),
    "palette": ("ctrl+p", "/branch"),
}


def saved_chat(folder: Path) -> ChatController:
    path = folder / "history.db"
    chat = ChatController(journal=Keeper(path), library=Library(path))
    chat.attach(ScriptedLM([ANSWER]))
    return chat


async def visited(stage: Stage) -> AsyncIterator[str]:
    """Have a long message answered, then open and close every screen."""
    await stage.say("a message with more words than a row of the chats has room for, by far")
    await stage.until_ended()
    for screen, (key, words) in SCREENS.items():
        if key:
            await stage.pilot.press(key)
        await stage.until_shown(words)
        await stage.pilot.pause(0.1)
        yield screen
        if key:
            await stage.pilot.press("f6" if key == "f6" else "escape")
            await stage.until_shown("READY")


def test_ascii_terminal_is_shown_nothing_else(tmp_path: Path) -> None:
    foreign: dict[str, set[str]] = {}

    async def scenario() -> None:
        async with staged(chat=saved_chat(tmp_path), size=(80, 24), is_ascii=True) as stage:
            async for screen in visited(stage):
                foreign[screen] = {sign for sign in stage.text() if not sign.isascii()}

    played(scenario)

    assert foreign == {screen: set() for screen in SCREENS}


def test_no_cursor_blinks(tmp_path: Path) -> None:
    blinking: set[str] = set()

    async def scenario() -> None:
        async with staged(chat=saved_chat(tmp_path)) as stage:
            async for screen in visited(stage):
                fields = [*stage.app.screen.query(Input), *stage.app.screen.query(TextArea)]
                blinking.update(screen for field in fields if field.cursor_blink)

    played(scenario)

    assert blinking == set()


def style_of(stage: Stage, words: str) -> Style:
    """How a text is drawn."""
    strips = stage.app.screen._compositor.render_strips()
    found: list[Style] = [
        s.style for strip in strips for s in strip if words in s.text and s.style is not None
    ]
    assert found, stage.text()
    return found[0]


@pytest.mark.parametrize("theme", ["textual-light", "textual-dark"])
def test_state_and_frame_of_a_prompt_without_the_focus_can_be_read(theme: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            stage.app.theme = theme
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("tab")
            await stage.pilot.pause(0.1)

            assert contrast(style_of(stage, "READY")) > 4.5
            assert contrast(style_of(stage, "╭")) > 1.5

    played(scenario)


def test_focus_of_the_prompt_is_seen_without_colours() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), can_color=False) as stage:
            await stage.say("go")
            await stage.until_ended()
            assert "━━━ READY" in stage.text()
            await stage.pilot.press("tab")
            await stage.until_shown("─── READY")

    played(scenario)


@pytest.mark.parametrize("can_color", [True, False])
def test_parameter_that_the_keys_go_to_is_underlined(can_color: bool) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), can_color=can_color) as stage:
            await stage.pilot.press("f4")
            await stage.until_shown("top_k")
            assert not style_of(stage, "top_k").underline
            await stage.pilot.press("tab", "tab")
            await stage.until(lambda: bool(style_of(stage, "top_k").underline))
            assert not style_of(stage, "temperature").underline

    played(scenario)


def test_picker_tells_of_the_row_in_the_table_that_has_the_focus() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), size=(100, 34)) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("apache-2.0")
            await stage.pilot.press("tab")
            await stage.until_shown("auto: whatever gains, measured while it answers")
            await stage.pilot.press("tab")
            await stage.until_shown("apache-2.0")

    played(scenario)


def test_picker_begins_with_what_is_loaded() -> None:
    loaded = replace(DESCRIPTION, target="qwen3-14b")

    async def scenario() -> None:
        async with staged(ScriptedLM(description=loaded), size=(100, 34)) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("tok/s")
            assert isinstance(stage.app.screen, ModelsScreen)
            await stage.until(lambda: stage.app.screen._target().name == "qwen3-14b")
            await stage.until_shown(stage.app.screen._target().told.partition(",")[0])

    played(scenario)


def test_small_picker_cuts_no_word_of_what_does_not_fit() -> None:
    stock = Models(free_bytes=lambda: 1_000_000_000)

    async def scenario() -> None:
        async with staged(ScriptedLM(), size=(60, 18), models=stock) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("tok/s")
            await stage.pilot.press("end")
            await stage.until_shown("✗ needs")
            rows = [row for row in stage.rows() if "✗ needs" in row]

            assert all(row.rstrip("│▁▂▃▄▅▆▇ ").endswith("GB") for row in rows)

    played(scenario)


def test_cursor_of_a_field_is_seen_without_colours(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with staged(chat=saved_chat(tmp_path), can_color=False) as stage:
            await stage.pilot.press("f3")
            await stage.until_shown("no chat is saved yet")
            await stage.pilot.press("a", "b")
            await stage.until_shown("no chat has the words 'ab'")
            field = next(
                row for row in stage.app.screen._compositor.render_strips() if " ab" in row.text
            )

            assert [s.text for s in field if s.style is not None and s.style.reverse] == [" "]

    played(scenario)
