"""A chat that can be opened without a word: its screen is shown first, and it is made behind it.

Only a guess, from what was said and what a look at two files tells. Where a question, a note or
an error is due after all, `MustTalk` ends the attempt, and all is done in the open, as for any
other chat.
"""

import io
from collections.abc import Set
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from edgespec.cli.flags import Flags
from edgespec.cli.last import last_target
from edgespec.cli.render import Screen

_NEVER_REFUSED = {"target", "private", "no_color"}
"""Flags that nobody has to check: their values are all good."""


class MustTalk(Exception):
    """Somebody has something to say or to ask."""


class Silent(Screen):
    """A screen that nobody sees: whoever wants to write on it ends the attempt."""

    def __init__(self) -> None:
        super().__init__(io.StringIO(), io.StringIO())

    @property
    def is_err_terminal(self) -> bool:
        """Progress is something to say, too."""
        return True

    def status(self, text: str) -> None:
        """Raises: `MustTalk`."""
        self._write_err(text)

    def _write_err(self, text: str) -> NoReturn:
        raise MustTalk(text)

    _write_out = _write_err


def is_unchecked(said: Set[str]) -> bool:
    """Whether one of the flags that were given may have a value that has to be refused."""
    return not said <= _NEVER_REFUSED


def without_a_word(flags: Flags, said: Set[str]) -> Flags | None:
    """The flags of a chat that probably needs no talk, with its target named; None: it may.

    `said`: the names of the flags that a person gave.
    """
    last = last_target()
    target = flags.target or last
    is_here = bool(target) and (target == last or Path(target).is_file())
    return None if is_unchecked(said) or not is_here else replace(flags, target=target)
