"""The way from the commands to the engine, replaceable as a whole by a test."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

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
