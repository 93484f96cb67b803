"""What the commands share: the one screen, and the way to the engine, which a test replaces."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Unpack

from edgespec.cli.render import Screen

if TYPE_CHECKING:
    from edgespec.api.types import LanguageModel, Loading


class Load(Protocol):
    """`edgespec.load`."""

    def __call__(self, target: str | Path, **loading: "Unpack[Loading]") -> "LanguageModel":
        """A loaded model."""
        ...


def _load(target: str | Path, **loading: "Unpack[Loading]") -> "LanguageModel":
    from edgespec.api.model import load

    return load(target, **loading)


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
