"""A named model, wherever it is: its catalogue entry, and its header read here or far away."""

from dataclasses import dataclass
from pathlib import Path

from edgespec.errors import DownloadError, ModelFileError, ModelNotFound
from edgespec.gguf.header import GgufHeader, read_far_header, read_header
from edgespec.models.far_file import FarFile, open_far
from edgespec.models.hub_client import is_offline
from edgespec.models.names import Resolved
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store import list_installed


@dataclass(frozen=True, slots=True)
class LocatedHeader:
    """A header and where it was read."""

    header: GgufHeader
    spec: ModelSpec | None
    label: str
    where: str
    """The source of a file that is not here; else empty."""
    fetched_bytes: int
    """What travelled for it."""


def locate_header(resolved: Resolved) -> LocatedHeader:
    """Read the header of a model that may be anywhere; of a far file, its header only travels.

    Raises: `ModelNotFound` offline; `DownloadError`; `ModelFileError`.
    """
    spec = resolved.model
    if isinstance(spec, Path):
        return LocatedHeader(read_header(spec), None, resolved.name, "", 0)
    if here := list_installed([spec]):
        return LocatedHeader(read_header(here[0].path), spec, spec.id, "", 0)
    if is_offline():
        raise ModelNotFound(
            f"{spec.id} is not on this machine, and offline mode forbids asking for its header",
            hint=f"without HF_HUB_OFFLINE: edgespec models info {spec.id}",
        )
    return _far(spec)


def _far(spec: ModelSpec) -> LocatedHeader:
    sources = [source for source in spec.sources if isinstance(source, HubSource)]
    if not sources:
        raise ModelNotFound(
            f"{spec.id} is not on this machine, and its source gives whole files only",
            hint=f"edgespec pull {spec.id}",
        )
    ranges = open_far(sources[0])
    if spec.size_bytes not in (None, ranges.size_bytes):
        raise DownloadError(
            f"{sources[0]} offers {ranges.size_bytes:,} bytes under {spec.file}, not the pinned "
            f"{spec.size_bytes:,}",
            hint="the catalogue is older than the repository: edgespec models check --online",
        )
    file = FarFile(ranges)
    try:
        header = read_far_header(spec.file, file, ranges.size_bytes)
    except ModelFileError as error:
        raise ModelFileError(error.message, hint="another file of this repository may do") from None
    return LocatedHeader(header, spec, spec.id, str(sources[0]), file.fetched_bytes)
