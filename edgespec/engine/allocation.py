"""What llama.cpp really allocated, read off its own log lines."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from edgespec.engine.rpc import lent

What = Literal["weights", "copies", "KV", "state", "compute", "output"]
"""Copies are weights that the processor's kernels want in another order, beside the mapped file:
the originals' pages are nobody's any more, and are given back where memory is short."""
_KINDS: Final[dict[str, What]] = {
    "model": "weights",
    "KV": "KV",
    "RS": "state",
    "compute": "compute",
    "output": "output",
}
_LINE: Final = re.compile(r"(\S+)\s+(model|KV|RS|compute|output) buffer size\s*=\s*([\d.]+) MiB")
_REMOTE: Final = re.compile(r"RPC(\d+)\[(.+)\]")
_COPIES: Final = re.compile(r"CPU_REPACK|AMX")
_HOST: Final = re.compile(r"CPU|AMX|BLAS|\w+_Host$|\w+_Mapped$")
"""The machine's own memory: repacked weights, pages that a GPU reads, the mapped file."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """One kind of buffer in one place, all of them together."""

    what: What
    where: str
    """A device's name in the registry; "CPU" for the machine's own memory."""
    size_bytes: int


def allocations(lines: Iterable[str]) -> tuple[Allocation, ...]:
    """The buffers that these lines of llama.cpp's log name, in the order of their first naming."""
    found: dict[tuple[What, str], int] = {}
    for line in lines:
        match = _LINE.search(line)
        if match is not None:
            is_copy = match[2] == "model" and _COPIES.match(match[1])
            key: tuple[What, str] = ("copies" if is_copy else _KINDS[match[2]], _place(match[1]))
            found[key] = found.get(key, 0) + round(float(match[3]) * 2**20)
    return tuple(Allocation(what, where, n) for (what, where), n in found.items())


def _place(buffer: str) -> str:
    """The device's name behind a buffer type's."""
    remote = _REMOTE.fullmatch(buffer)
    if remote is not None:
        return lent.device_at(remote[2], int(remote[1])) or buffer
    return "CPU" if _HOST.match(buffer) else buffer
