"""What the commands share: the one screen, and the way to the engine, which a test replaces."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from edgespec.cli.render import Screen

if TYPE_CHECKING:
    from edgespec.api.types import LanguageModel


class Load(Protocol):
    """`edgespec.load`."""

    def __call__(
        self,
        target: str | Path,
        *,
        draft: str | Path | None,
        drafter: str,
        n_ctx: int | None,
        n_threads: int | None,
        progress: Callable[[str, float], None] | None,
    ) -> "LanguageModel":
        """A loaded model. `progress` hears what is being done, and which share of it is done."""
        ...


def _load(
    target: str | Path,
    *,
    draft: str | Path | None,
    drafter: str,
    n_ctx: int | None,
    n_threads: int | None,
    progress: Callable[[str, float], None] | None,
) -> "LanguageModel":
    from edgespec.api.model import load

    return load(
        target,
        draft=draft,
        drafter=drafter,
        n_ctx=n_ctx,
        n_threads=n_threads,
        progress=progress,
    )


@dataclass(frozen=True, slots=True)
class Doors:
    """What the commands call that a test plays itself."""

    load: Load = _load


@dataclass(frozen=True, slots=True)
class Shared:
    """What every command of this process gets from click."""

    screen: Screen
    """The only one: a second would not know of a status line that the first has shown."""
    doors: Doors
