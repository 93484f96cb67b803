"""Slash commands on the screen: what is shown of them, and where."""

from pathlib import Path

import pytest

from edgespec.chat.controller import ChatController
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from tests.scripted import ScriptedLM
from tests.tui.stage import played, staged


def kept(tmp_path: Path) -> ChatController:
    """A chat that is saved."""
    path = tmp_path / "history.db"
    return ChatController(journal=Keeper(path), library=Library(path))


@pytest.mark.parametrize("command", ["/new", "/clear", "/private", "/delete this"])
def test_new_chat_begins_with_an_empty_log(tmp_path: Path, command: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), chat=kept(tmp_path)) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.say("/stats")
            await stage.until_shown("tokens, passes")
            await stage.say(command)
            await stage.until(lambda: not stage.views)
            await stage.pilot.pause()

            assert "tokens, passes" not in stage.text()

    played(scenario)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/delete this", "/undo brings it back"),
        ("/remove", "/undo brings it back"),
        ("/private", "/save would save it"),
    ],
)
def test_what_a_command_says_is_seen_where_the_log_is_drawn_anew(
    tmp_path: Path, command: str, words: str
) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), chat=kept(tmp_path), size=(120, 34)) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.say(command)
            await stage.until(lambda: not stage.views)
            await stage.pilot.pause()

            assert words in " ".join(stage.text().split())

    played(scenario)
