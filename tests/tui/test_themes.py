import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from edgespec.tui.themes import DEFAULT, SIXTEEN, first_theme, remember
from rich.segment import Segment

from edgespec.chat.controller import ChatController
from edgespec.errors import DecodeFailed
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from tests.scripted import Script, ScriptedLM
from tests.tui.stage import Stage, played, staged

KNOWN = dict.fromkeys((DEFAULT, SIXTEEN, "nord", "edgespec-cb"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))
    return tmp_path


def test_theme_that_was_chosen_is_there_at_the_next_start() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            stage.app.theme = "nord"
            await stage.pilot.pause()
        async with staged(ScriptedLM()) as stage:
            assert stage.app.theme == "nord"

    played(scenario)


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({"TERM": "xterm-256color"}, DEFAULT),
        ({"TERM": "xterm-kitty"}, DEFAULT),
        ({"TERM": "linux"}, SIXTEEN),
        ({"TERM": "xterm"}, SIXTEEN),
        ({"TERM": "screen"}, SIXTEEN),
        ({"TERM": "linux", "COLORTERM": "truecolor"}, DEFAULT),
        ({"TERM": "linux", "TEXTUAL_THEME": "nord"}, "nord"),
        ({"TEXTUAL_THEME": "no such"}, DEFAULT),
    ],
)
def test_first_theme_is_what_the_terminal_can_show(environ: dict[str, str], theme: str) -> None:
    assert first_theme(environ, KNOWN) == theme


@pytest.mark.parametrize("damage", ["", "{", "[]", '"nord"', '{"theme": 7}'])
def test_damaged_file_is_no_choice(damage: str, home: Path) -> None:
    (home / "tui.json").write_text(damage)

    assert first_theme({"TERM": "xterm-256color"}, KNOWN) == DEFAULT


def test_choice_is_kept_whole(home: Path) -> None:
    remember("edgespec-cb")

    assert json.loads((home / "tui.json").read_text()) == {"theme": "edgespec-cb"}
    assert [path.name for path in home.iterdir()] == ["tui.json"]


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "edgespec-cb", "ansi-dark"])
def test_chat_is_drawn_in_every_theme(theme: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["```python\nx = 1\n```"])) as stage:
            stage.app.theme = theme
            await stage.say("go")
            await stage.until_ended()

            assert "x = 1" in stage.text()
            assert "draft ON" in stage.text()

    played(scenario)


@pytest.mark.parametrize("can_color", [False, True])
def test_chosen_way_and_chosen_chat_stand_out_without_colours(
    can_color: bool, tmp_path: Path
) -> None:
    error = DecodeFailed("no slot")
    chat = ChatController(
        journal=Keeper(tmp_path / "history.db"), library=Library(tmp_path / "history.db")
    )

    def looks(stage: Stage, words: str) -> set[str]:
        strips = stage.app.screen._compositor.render_strips()
        found = [s.style for strip in strips for s in strip if words in s.text]
        names = ("bold", "underline", "reverse")
        return {name for style in found if style for name in names if getattr(style, name)}

    async def scenario() -> None:
        model = ScriptedLM([Script("", error=error)])
        async with staged(model, chat=chat, can_color=can_color) as stage:
            stage.app.theme = "ansi-dark"
            await stage.say("Hi")
            await stage.until_shown("answer it again")
            await stage.pilot.pause()
            way, other = looks(stage, "answer it again"), looks(stage, "choose another model")
            await stage.pilot.press("escape", "f3")
            await stage.until_shown("1 turn")
            await stage.pilot.pause()

            assert way - other
            assert "reverse" in looks(stage, "1 turn")

    played(scenario)


def test_chosen_command_of_the_palette_stands_out_without_colours_and_signs_are_narrow() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), can_color=False) as stage:
            await stage.pilot.press("ctrl+p")
            await stage.until_shown("/branch")
            await stage.pilot.press("down")
            await stage.until_shown("/context")
            await stage.pilot.pause()
            strips = stage.app.screen._compositor.render_strips()
            chosen = {s.text.strip() for strip in strips for s in strip if is_underlined(s)}

            assert "/context" in chosen
            assert "/branch" not in chosen
            assert "🔎" not in stage.text()

    def is_underlined(segment: Segment) -> bool:
        return bool(segment.style and segment.style.underline)

    played(scenario)


def test_own_theme_named_by_the_environment_is_drawn_in_its_own_colours() -> None:
    # Textual reads the name before the theme is known, and later sees no change.
    script = (
        "from edgespec.tui.app import EdgespecApp\n"
        "from edgespec.chat.controller import ChatController\n"
        "print(EdgespecApp(ChatController()).stylesheet._variables['primary'])"
    )

    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "TEXTUAL_THEME": "edgespec-cb"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.strip().lower() == "#56b4e9"
