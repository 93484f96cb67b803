"""The process that loaded a model: only there its engine thread lives.

A forked process has the model's memory, but not its thread: what waited for it would wait forever.
"""

import os
from typing import NoReturn

from edgespec.errors import Closed


class Owner:
    """Remembers the process it was made in."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is that process."""
        return os.getpid() == self._pid

    def check(self) -> None:
        """Raises: `Closed` in a process that was forked from that one."""
        if not self.is_here:
            raise Closed(
                "this model was loaded by another process, which this one was forked from",
                hint="load the model here, or send the prompts to the process that has it",
            )


def refuse_copy(thing: object) -> NoReturn:
    """For `__reduce__` of what cannot leave its process, nor be there twice."""
    raise TypeError(
        f"{type(thing).__name__} cannot be copied or pickled: threads may share it, and another"
        " process loads a model of its own"
    )
