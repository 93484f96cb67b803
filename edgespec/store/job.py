"""What fetching needs to know, and how a source says that it cannot deliver."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from edgespec.models.spec import ModelSpec
from edgespec.sizes import gigabytes
from edgespec.store.progress import Meter, Phase, Tell

FreeBytes = Callable[[Path], int]


class SourceFailed(Exception):
    """One source cannot deliver: the reason as a clause, and what a person can do about it."""

    def __init__(self, reason: str, *, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Job:
    """One pull: the model, its folder below the models folder, and who listens."""

    spec: ModelSpec
    folder: Path
    tell: Tell
    free_bytes: FreeBytes

    def meter(self, phase: Phase, source: str, total_bytes: int | None) -> Meter:
        """A meter for one phase."""
        return Meter(self.tell, self.spec.file, phase, source, total_bytes)

    def need_space(self, needed_bytes: int, folder: Path, why: str) -> None:
        """Refuse before anything is fetched. Raises: `SourceFailed` with both numbers."""
        free_bytes = self.free_bytes(folder)
        if free_bytes < needed_bytes:
            raise SourceFailed(
                f"{gigabytes(needed_bytes)} {why} are needed in {folder}, "
                f"and {gigabytes(free_bytes)} are free",
                hint="free some space, or let EDGESPEC_HOME or HF_HOME name a folder with room",
            )


def disk_free(folder: Path) -> int:
    """Free bytes of the file system that `folder` is on, or would be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free
