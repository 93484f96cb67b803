"""This machine as a report: every reader asked once. Loads llama.cpp, about 0.05 s."""

import math

from edgespec.engine import binding
from edgespec.engine.devices import devices
from edgespec.engine.threads import cores, read_text
from edgespec.hardware.cpu import read_cpu
from edgespec.hardware.gpu import read_devices
from edgespec.hardware.memory import linux_memory, read_memory
from edgespec.hardware.types import HardwareReport, Memory, Unknown


def probe() -> HardwareReport:
    """What this machine has now. Never raises: what cannot be read says why."""
    found = read_devices(devices)
    return HardwareReport(
        name="this machine",
        cpu=read_cpu(read_text, cores(), _system_line),
        memory=memory(),
        devices=() if isinstance(found, Unknown) else found,
        notes=(f"devices are not known: {found.reason}",) if isinstance(found, Unknown) else (),
    )


def memory() -> Memory:
    """The machine's own memory alone: loads nothing."""
    return read_memory(read_text, _whole, _address_limit())


def room_bytes(most: int | None = None) -> float:
    """Memory that can be taken now, all limits and `most` included; infinite where unknown."""
    available = memory().available_bytes
    known = available if isinstance(available, int) else math.inf
    return known if most is None else min(known, most)


def _system_line() -> str:
    line: bytes = binding.lib().llama_print_system_info()
    return line.decode("utf-8", "replace")


def _whole() -> tuple[int, int]:
    if (told := linux_memory(read_text)) is not None:
        return told
    import psutil  # 25 ms

    found = psutil.virtual_memory()
    return int(found.total), int(found.available)


def _address_limit() -> int:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return -1
    return resource.getrlimit(resource.RLIMIT_AS)[0]
