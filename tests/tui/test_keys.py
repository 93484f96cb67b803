"""The one table of keys: what is bound is in the help, what the help says is bound."""

from typing import Any

import pytest
from edgespec.tui.actions import ChatActions
from edgespec.tui.chats import ChatsScreen
from edgespec.tui.dialog import Dialog
from edgespec.tui.failed import FailedScreen
from edgespec.tui.help import help_blocks
from edgespec.tui.keys import KEYS, Key, Where, bindings, key_row
from edgespec.tui.log import ChatLog
from edgespec.tui.logs import LogScreen
from edgespec.tui.models import ModelsScreen
from edgespec.tui.params import ParamsScreen
from edgespec.tui.plan import PlanScreen
from edgespec.tui.prompt import Prompt
from edgespec.tui.screen import ChatScreen
from edgespec.tui.turn import TurnView
from textual.app import App
from textual.binding import Binding

from edgespec.chat.commands import COMMANDS
from tests.scripted import ScriptedLM
from tests.tui.stage import played, staged

TRAPS = {"ctrl+i", "ctrl+m", "ctrl+h", "ctrl+left_square_bracket", "ctrl+b", "ctrl+tab"}


def test_help_lists_every_key_and_every_command() -> None:
    page = "\n".join(line.plain for block in help_blocks() for line in block.lines(200))

    assert all(key.shown in page and key.what in page for key in KEYS)
    assert all(entry.usage in page and entry.summary in page for entry in COMMANDS.values())


def test_every_binding_of_the_chat_comes_from_the_table() -> None:
    table = {part for key in KEYS for part in key.keys.split(",")}
    bound = {
        part
        for widget in (ChatScreen, TurnView, ChatLog)
        for binding in widget.BINDINGS
        if isinstance(binding, Binding)
        for part in binding.key.split(",")
    }

    assert bound <= table


DIALOGS: dict[Where, type[Dialog[Any]]] = {
    "models": ModelsScreen,
    "plan": PlanScreen,
    "chats": ChatsScreen,
    "params": ParamsScreen,
    "log": LogScreen,
    "failed": FailedScreen,
}


@pytest.mark.parametrize("where", DIALOGS)
def test_every_binding_of_another_screen_comes_from_the_table(where: Where) -> None:
    table = {part for key in KEYS if key.where == where for part in key.keys.split(",")}
    bindings = [b for b in DIALOGS[where].__dict__["BINDINGS"] if isinstance(b, Binding)]

    assert {part for binding in bindings for part in binding.key.split(",")} <= table


@pytest.mark.parametrize(
    "key", [key for key in KEYS if key.action], ids=lambda key: f"{key.where}-{key.keys}"
)
def test_key_has_something_that_does_it(key: Key) -> None:
    name = key.action.rpartition(".")[2].partition("(")[0]
    owners = {
        "prompt": (Prompt, TextAreaActions),
        "chat": (ChatActions, AppActions),
        "turn": (ChatActions, ChatLog),
        **{where: (screen, App) for where, screen in DIALOGS.items()},
    }[key.where]

    assert any(hasattr(owner, f"action_{name}") for owner in owners)


class TextAreaActions:
    """What the prompt does with keys of its own, in `on_key`."""

    action_send = action_break_line = action_recall = action_complete = None


class AppActions:
    """What Textual's app does."""

    action_command_palette = None


def test_no_key_is_one_that_terminals_send_for_another() -> None:
    assert not TRAPS & {part for key in KEYS for part in key.keys.split(",")}


def test_no_key_is_bound_twice_in_one_place() -> None:
    for where in ("prompt", "chat", "turn", *DIALOGS):
        keys = [part for key in KEYS if key.where == where for part in key.keys.split(",")]

        assert len(keys) == len(set(keys))


def test_bindings_can_be_remapped_by_their_ids() -> None:
    ids = [b.id for b in bindings("chat") if isinstance(b, Binding)]

    assert len(set(ids)) == len(ids)
    assert None not in ids


def test_key_row_fits_eighty_columns() -> None:
    assert len(key_row()) <= 80


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("f1", "Writing"),
        ("f2", "of memory are free"),
        ("f3", "words in any turn"),
        ("f4", "System prompt"),
        ("f8", "Log"),
        ("ctrl+p", "Search for commands"),
    ],
)
def test_key_opens_its_screen_and_escape_comes_back(key: str, words: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.pilot.press(key)
            await stage.until_shown(words)
            await stage.pilot.press("escape")
            await stage.until(lambda: isinstance(stage.app.screen, ChatScreen))

            assert stage.app.focused is stage.prompt

    played(scenario)


def test_palette_finds_commands_by_name() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.pilot.press("ctrl+p")
            await stage.until_shown("Search for commands")
            await stage.pilot.press(*"/stats")
            await stage.until_shown("figures of")
            await stage.pilot.press("enter")
            await stage.until_shown("no answer yet")

    played(scenario)


def test_command_of_the_palette_loses_nothing_that_was_being_written() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            stage.prompt.put("half a thought")
            await stage.pilot.press("ctrl+p")
            await stage.until(lambda: stage.app.screen is not stage.app.screen_stack[0])
            await stage.pilot.press(*"gamma")
            await stage.until_shown("most draft tokens")
            await stage.pilot.press("enter")
            await stage.until(lambda: stage.prompt.text == "/gamma ")
            await stage.pilot.press("up")

            assert stage.prompt.text == "half a thought"

    played(scenario)
