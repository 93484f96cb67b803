"""A file of the hub, read by ranges: only the blocks that are asked for travel.

Asks through huggingface_hub, so that endpoint, token and proxies are the usual ones.
"""

from dataclasses import dataclass
from typing import Any, Final, Protocol

from edgespec.errors import DownloadError
from edgespec.models.hub_client import endpoint, gated, gist, page_of, prepare, refusals
from edgespec.models.spec import HubSource

_BLOCK_BYTES: Final = 1 << 20
_MOST_BYTES: Final = 1 << 28
_ANSWER_S: Final = 20.0
_PARTIAL: Final = 206


class Ranges(Protocol):
    """Somewhere that gives parts of one file."""

    @property
    def size_bytes(self) -> int:
        """Of the whole file."""
        ...

    def fetch(self, first: int, end: int) -> bytes:
        """Bytes from `first` to before `end`. Raises: `DownloadError`."""
        ...


class FarFile:
    """Implements `gguf.cursor.Readable`; keeps every block that came."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self._blocks: dict[int, bytes] = {}
        self._at = 0

    @property
    def fetched_bytes(self) -> int:
        """What has travelled so far."""
        return sum(map(len, self._blocks.values()))

    def seek(self, at: int, /) -> int:
        """Go to an absolute position; costs nothing."""
        self._at = at
        return at

    def read(self, n_bytes: int, /) -> bytes:
        """The next bytes. Raises: `DownloadError`."""
        end = min(self._at + n_bytes, self._ranges.size_bytes)
        first, last = self._at // _BLOCK_BYTES, -(-end // _BLOCK_BYTES)
        whole = b"".join(self._block(number) for number in range(first, last))
        start = self._at - first * _BLOCK_BYTES
        self._at = max(end, self._at)
        return whole[start : start + n_bytes][: max(0, n_bytes)]

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            if self.fetched_bytes >= _MOST_BYTES:
                raise DownloadError(
                    f"its header is over {_MOST_BYTES:,} bytes, which no model's is"
                )
            first = number * _BLOCK_BYTES
            end = min(first + _BLOCK_BYTES, self._ranges.size_bytes)
            block = self._ranges.fetch(first, end)
            if len(block) != end - first:
                raise DownloadError(
                    f"{len(block):,} bytes came instead of {end - first:,}",
                    hint="check the connection, then try again",
                )
            self._blocks[number] = block
        return self._blocks[number]


@dataclass(frozen=True, slots=True)
class HubRanges:
    """One file of the hub at one commit. Implements `Ranges`."""

    source: HubSource
    url: str
    size_bytes: int

    def fetch(self, first: int, end: int) -> bytes:
        """Bytes from `first` to before `end`. Raises: `DownloadError`."""
        from huggingface_hub.utils import build_hf_headers, get_session

        headers = build_hf_headers(library_name="edgespec")
        headers |= {"Range": f"bytes={first}-{end - 1}", "Accept-Encoding": "identity"}
        try:
            with get_session().stream(
                "GET", self.url, headers=headers, follow_redirects=True, timeout=_ANSWER_S
            ) as response:
                if response.status_code != _PARTIAL:
                    raise DownloadError(
                        f"{self.source} gives no parts of {self.source.file} "
                        f"(HTTP status {response.status_code})",
                        hint="edgespec pull gets the whole file",
                    )
                content = b""
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) >= end - first:
                        break  # a server that sends on and on is not waited for
                return content[: end - first]
        except refusals() as error:
            raise _unreachable(self.source, error) from error


def open_far(source: HubSource) -> HubRanges:
    """Ask the hub for the file's size; nothing of it travels. Raises: `DownloadError`."""
    try:
        prepare()
        from huggingface_hub import get_hf_file_metadata, hf_hub_url

        url = hf_hub_url(source.repo, source.file, revision=source.revision, endpoint=endpoint())
        found: Any = get_hf_file_metadata(url, timeout=_ANSWER_S)
    except refusals() as error:
        raise _unreachable(source, error) from error
    if not found.size:
        raise DownloadError(f"{source} does not say how large {source.file} is")
    return HubRanges(source, url, found.size)


def _unreachable(source: HubSource, error: Exception) -> DownloadError:
    from huggingface_hub.errors import GatedRepoError

    why, hint = gist(error), "check the connection and HF_TOKEN, then try again"
    if isinstance(error, GatedRepoError):
        why, hint = gated(page_of(source.repo))
    return DownloadError(f"{source.file} could not be read from {source}: {why}", hint=hint)
