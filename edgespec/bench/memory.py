"""What the process used at most, and what llama.cpp said that it allocated."""

import logging
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_BUFFER = re.compile(r"(\S+)\s+(\w+)\s+buffer size\s*=\s*([\d.]+) MiB")
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes; buffers on a GPU do not count as memory of the process."""

    peak_bytes: int
    """High-water mark of the process's resident memory."""
    buffers: Mapping[str, int] = field(default_factory=dict)
    """By kind: model, KV, compute and RS (recurrent states) as llama.cpp logged them; output, the
    logits, as it has grown since."""

    @property
    def buffer_bytes(self) -> int:
        """All buffers together."""
        return sum(self.buffers.values())

    @property
    def beyond_bytes(self) -> int:
        """What the process needs beside them: Python, libraries, indexes."""
        return self.peak_bytes - self.buffer_bytes


class BufferLog(logging.Handler):
    """Adds up the buffers of host memory that llama.cpp's log names while it listens."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.buffers: dict[str, int] = defaultdict(int)

    def emit(self, record: logging.LogRecord) -> None:
        """Read one line."""
        found = _BUFFER.search(record.getMessage())
        if found is not None and "CPU" in found[1]:
            self.buffers[found[2]] += round(float(found[3]) * _MIB)


@contextmanager
def logged_buffers() -> Iterator[BufferLog]:
    """Listen to llama.cpp's log, whatever is shown of it."""
    log, logger = BufferLog(), logging.getLogger("edgespec.llama")
    level, propagates = logger.level, logger.propagate
    is_shown = logger.isEnabledFor(logging.DEBUG)
    logger.addHandler(log)
    logger.setLevel(logging.DEBUG)
    logger.propagate = is_shown
    try:
        yield log
    finally:
        logger.setLevel(level)
        logger.propagate = propagates
        logger.removeHandler(log)


def peak_bytes() -> int:
    """The most resident memory that this process ever had."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    # Not ru_maxrss, which survives exec: a child would begin with its parent's peak.
    told_bytes = high_water_bytes("self")
    if told_bytes is not None:
        return told_bytes
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def high_water_bytes(pid: int | str) -> int | None:
    """The same of any process, "self" being this one, where Linux tells; else None."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(r"VmHWM:\s*(\d+) kB", text)
    return None if found is None else 1024 * int(found[1])
