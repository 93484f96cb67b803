"""The other models a chat can turn to: a seam that the command line fills."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from edgespec.api.types import Options
from edgespec.chat.workers import OpenModel

if TYPE_CHECKING:
    from edgespec.plan.types import Plan


@dataclass(frozen=True, slots=True)
class ModelChange:
    """What is to be loaded otherwise; None: as it is."""

    target: str | None = None
    """A catalogue id or a file."""
    draft: str | None = None
    """A catalogue id, a file, "off" or "auto"."""
    n_ctx: int | None = None
    n_gpu_layers: int | None = None
    """0: on the CPU alone."""


LighterKind = Literal["smaller", "no_draft", "cpu"]


class Shelf(Protocol):
    """Finds models; remembers which was loaded last, as the next change starts from there."""

    def names(self) -> list[str]:
        """The models on this machine."""
        ...

    def take(self, change: ModelChange) -> OpenModel:
        """What opens the changed choice. Raises: `EdgespecError`: unknown, not on this machine."""
        ...

    @property
    def wanted(self) -> ModelChange | None:
        """What was asked for last, loaded or not; None: nothing yet."""
        ...

    def plan(self, change: ModelChange) -> "Plan":
        """What the changed choice would take and where, with nothing loaded; any thread.

        A model that is not here is planned by what the catalogue knows. Raises: `EdgespecError`:
        unknown, does not fit.
        """
        ...

    def larger_context(self, needed: int) -> int | None:
        """A context of the present model for so many tokens; None where none can be had."""
        ...

    def lighter(self) -> dict[LighterKind, ModelChange]:
        """What was tried last, loaded or not, changed so that it needs less of the machine."""
        ...

    def advised(self, options: Options) -> Options:
        """`options` as the publisher of the model that is loaded now advises; asked at each load.

        What a person has changed stays.
        """
        ...
