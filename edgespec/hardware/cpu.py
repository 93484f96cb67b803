"""The processor: its name, the cores this process may use, what llama.cpp was built to use of it.

Reads, never decides, never raises.
"""

import platform
import re
import sys
from collections.abc import Callable

from edgespec.engine.cpu_quota import Read
from edgespec.engine.threads import Cores
from edgespec.hardware.types import Cpu, Unknown

_NAMES = ("model name", "Model", "Hardware", "cpu model")
"""How /proc/cpuinfo calls it, by architecture."""
_NO_INSTRUCTIONS = ("LLAMAFILE", "OPENMP", "REPACK", "ACCELERATE")
"""What the build says of itself between the instruction sets."""
_FEATURE = re.compile(r"\b([A-Z]\w+) = (\d+)")


def read_cpu(read: Read, cores: Cores, system_line: Callable[[], str]) -> Cpu:
    """The processor; `system_line` gives llama.cpp's own words about it."""
    return Cpu(
        name=_name(read),
        machine=platform.machine(),
        n_physical=cores.physical,
        n_logical=cores.logical,
        quota=cores.quota,
        n_threads=cores.usable,
        instructions=_instructions(system_line),
    )


def features_of(line: str) -> tuple[str, ...]:
    """What is switched on in llama.cpp's system line, "CPU : SSE3 = 1 | AVX2 = 1 | … | "."""
    return tuple(name for name, value in _FEATURE.findall(line) if value != "0")


def instructions_of(line: str) -> tuple[str, ...]:
    """The instruction sets among them."""
    _, _, cpu = line.partition("CPU :")
    return tuple(name for name in features_of(cpu) if name not in _NO_INSTRUCTIONS)


def _instructions(system_line: Callable[[], str]) -> tuple[str, ...] | Unknown:
    try:
        return instructions_of(system_line())
    except Exception as error:  # of any kind: without a library there is nobody to ask
        return Unknown(f"llama.cpp cannot be asked ({error})")


def _name(read: Read) -> str | Unknown:
    for line in (read("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in _NAMES and value.strip():
            return value.strip()
    if sys.platform == "darwin" and (name := _apple_name()):
        return name
    return platform.processor() or Unknown("neither /proc/cpuinfo nor the system names it")


def _apple_name() -> str:
    import ctypes

    text, size = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
    sysctl = ctypes.CDLL(None).sysctlbyname
    key = b"machdep.cpu.brand_string"
    failed = sysctl(key, text, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else text.value.decode("utf-8", "replace")
