"""The memory this process may still take: the system's own figure, control groups, `ulimit -v`.

Works on the texts of /proc and /sys, which come through a function, so that any machine's can be
read. Reads, never decides, never raises.
"""

import logging
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from edgespec.engine.cpu_quota import Read, groups
from edgespec.hardware.types import Memory, Unknown

_log = logging.getLogger(__name__)
_UNLIMITED = 1 << 60
"""Version 1 writes the largest number there is where there is no limit."""


def read_memory(read: Read, whole: Callable[[], tuple[int, int]], address_limit: int) -> Memory:
    """Memory by the smallest of its limits.

    `whole` gives total and available bytes of the machine; `address_limit` is `ulimit -v` in
    bytes, below 0 for none.
    """
    try:
        total, available = whole()
    except Exception as error:  # of any kind: psutil's own depend on the system
        reason = f"the system does not tell ({type(error).__name__}: {error})"
        return Memory(Unknown(reason), Unknown(reason), "")
    limit = ""
    for name, most, used in _limits(read, address_limit):
        total = min(total, most)
        if max(0, most - used) < available:
            available, limit = max(0, most - used), name
    return Memory(total, available, limit)


def linux_memory(read: Read) -> tuple[int, int] | None:
    """Total and available bytes as Linux tells them; None on other systems."""
    sizes = dict(_pairs((read("/proc/meminfo") or "").replace(":", " ")))
    total, available = sizes.get("MemTotal"), sizes.get("MemAvailable")
    return None if total is None or available is None else (total * 1024, available * 1024)


def _limits(read: Read, address_limit: int) -> tuple[tuple[str, int, int], ...]:
    try:
        return (*_group_limits(read), *_address_limit(read, address_limit))
    except (ValueError, IndexError) as error:  # a kernel that writes its files in another way
        _log.info("limits of memory cannot be read: %s", error)
        return ()


def _group_limits(read: Read) -> Iterator[tuple[str, int, int]]:
    """(name, limit, used) of this process's group and of those above it.

    Pages of files count as used there, but the kernel takes them back before anyone starves.
    """
    for folder, is_version_2 in groups(read, "memory"):
        if is_version_2:
            names = "memory.max", "memory.current", ("inactive_file", "active_file")
        else:
            names = (
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                ("total_inactive_file", "total_active_file"),
            )
        limit = _number(read, folder / names[0])
        if limit is None or limit >= _UNLIMITED:
            continue
        stat = dict(_pairs(read(f"{folder}/memory.stat") or ""))
        cached = sum(stat.get(key, 0) for key in names[2])
        used = max(0, (_number(read, folder / names[1]) or 0) - cached)
        yield f"control group ({names[0]})", limit, used


def _address_limit(read: Read, limit: int) -> Iterator[tuple[str, int, int]]:
    if 0 <= limit < _UNLIMITED:
        sizes = dict(_pairs((read("/proc/self/status") or "").replace(":", " ")))
        yield "ulimit -v", limit, sizes.get("VmSize", 0) * 1024


def _number(read: Read, path: PurePosixPath) -> int | None:
    text = (read(str(path)) or "").strip()
    return int(text) if text.isdecimal() else None


def _pairs(text: str) -> Iterator[tuple[str, int]]:
    """Name and number of each line that has both."""
    for line in text.splitlines():
        name, *rest = line.split()[:2] or [""]
        if rest and rest[0].isdecimal():
            yield name, int(rest[0])
