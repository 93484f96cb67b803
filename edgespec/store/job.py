"""What fetching needs to know, and how a source says that it cannot deliver."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from edgespec import paths
from edgespec.models.spec import ModelSpec
from edgespec.sizes import gigabytes
from edgespec.store.progress import Meter, Phase, Tell

FreeBytes = Callable[[Path], int]


class SourceFailed(Exception):
    """One source cannot deliver: the reason as a clause, and what a person can do about it."""

    def __init__(self, reason: str, *, hint: str = "", is_unreachable: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.is_unreachable = is_unreachable
        """Nobody answered: other files of this source fail alike."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a network may be silent."""

    answer_s: float = 5.0
    """For the first answer of a server: until then another source may be quicker."""
    silence_s: float = 20.0
    """Without a byte, until a connection counts as dead."""
    tries: int = 5
    """Without a new byte, until the source counts as dead; every byte starts the count anew."""
    pause_s: float = 1.0
    """Before the second try; doubled for each further one."""
    longest_pause_s: float = 300.0
    """A server that asks for a longer one is not waited for."""


@dataclass(frozen=True, slots=True)
class Job:
    """One pull: the model, its folder below the models folder, and who listens."""

    spec: ModelSpec
    folder: Path
    tell: Tell
    free_bytes: FreeBytes
    patience: Patience = Patience()

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


def key_of(spec: ModelSpec) -> str:
    """The model's id as a file name: ids of repositories hold slashes and colons."""
    return re.sub(r"[^A-Za-z0-9._-]", "--", spec.id)


def folder_of(spec: ModelSpec) -> Path:
    """The model's own folder below the models folder."""
    return paths.models_dir() / key_of(spec)


def disk_free(folder: Path) -> int:
    """Free bytes of the file system that `folder` is on, or would be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free
