"""What a command is, and what it did: a text for the person, and what the front end has to do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from edgespec.chat.controller import ChatController
from edgespec.chat.turns import Turn

Effect = Literal["", "quit", "cleared", "opened", "follow", "copy", "edit", "help", "why", "sent"]
"""quit     leave
cleared  a new chat began: empty the log
opened   other turns are shown: draw all of them again
follow   updates will come, though no turn was sent
copy     `payload` goes to the clipboard
edit     `payload` goes into the prompt; what is sent then takes the place of `turn`
help     show `help_lines`
why      show what the last answer drafted, and why
sent     `turn` was sent
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    text: str = ""
    """For the person; may hold what a model or a file said: clean it before it is shown."""
    effect: Effect = ""
    payload: str = ""
    turn: Turn | None = None


Act = Callable[[ChatController, str], Outcome]
"""Does a command with its argument. Raises: `EdgespecError` with nothing changed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A command as help shows it, and what it does."""

    usage: str
    """As it is typed: a slash, its name, what may follow."""
    summary: str
    run: Act
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Without the slash."""
        return self.usage.split()[0].removeprefix("/")

    @property
    def needs_argument(self) -> bool:
        """Whether it does nothing without one, except to show what there is."""
        return " " in self.usage and "[" not in self.usage
