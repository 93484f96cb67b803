"""Everything a key or a command does, by name: what Ctrl+P searches."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.command import CommandPalette
from textual.screen import Screen
from textual.widgets import Input

from .keys import KEYS

if TYPE_CHECKING:
    from .screen import ChatScreen

_NOT_HERE = {"app.command_palette", "escape", "interrupt"}


class Palette(CommandPalette):
    """Textual's; it does not blink, and takes the ASCII signs of the screen below."""

    def on_mount(self) -> None:
        """Look like the chat."""
        self.query_one(Input).cursor_blink = False
        self.set_class(self.app.screen_stack[0].has_class("-ascii"), "-ascii")


def entries(screen: "Screen[object]") -> Iterable[SystemCommand]:
    """The chat's actions and commands; nothing while another screen is open."""
    from edgespec.chat.commands import COMMANDS

    from .screen import ChatScreen

    if not isinstance(screen, ChatScreen):
        return
    for key in KEYS:
        if key.where == "chat" and key.shown and key.action not in _NOT_HERE:
            if "scroll" in key.action:
                continue
            act = partial(screen.run_action, key.action)
            yield SystemCommand(_title(key.what), _unmarked(f"key {key.shown}"), act)
    yield SystemCommand("Plan", "what lies where in memory", partial(screen.run_action, "plan"))
    for entry in COMMANDS.values():
        yield SystemCommand(
            f"/{entry.name}", _unmarked(entry.summary), partial(_write, screen, entry.name)
        )


async def _write(screen: "ChatScreen", name: str) -> None:
    """Do a command that needs nothing more; else write its beginning into the prompt."""
    from edgespec.chat.commands import COMMANDS, Command

    usage = COMMANDS[name].usage
    if " " in usage.split(",")[0]:
        if screen.prompt.text.strip():
            screen.prompt.remember(screen.prompt.text)  # the up key brings it back
        screen.prompt.put(f"/{name} ")
        screen.prompt.focus()
    else:
        await screen.do(Command(name, ""))


def _unmarked(text: str) -> str:
    """Textual reads the palette's texts as markup: no bracket may begin a tag."""
    return text.replace("[", "(").replace("]", ")")


def _title(what: str) -> str:
    return what[:1].upper() + what[1:]
