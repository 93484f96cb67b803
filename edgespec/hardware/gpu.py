"""The devices of llama.cpp's backend registry as a plan sees them, and NVIDIA's driver.

Reads, never decides, never raises. Free memory is what the backend says now: other programs' use
is in it, and Apple's working-set limit is Metal's total.
"""

import ctypes
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from edgespec.engine.devices import Device as Reported
from edgespec.hardware.types import Device, DeviceKind, Unknown

_KINDS: Final = ("CPU", "GPU", "IGPU", "ACCEL")
_UNIFIED: Final = ("Metal", "MTL")
_CUDA: Final = ("CUDA", "ROCm")
_CUDA_POOL_BYTES: Final = 128 << 20
"""cuBLAS's workspace and ggml's pool; the context itself is there once memory was asked about."""
_LARGEST: Final = 1 << 56
"""No machine has it: what claims more is not a size."""


def read_devices(
    reported: Callable[[], Iterable[Reported]],
) -> tuple[Device, ...] | Unknown:
    """Every device of the build, the CPU included."""
    try:
        return tuple(_device(device) for device in reported())
    except Exception as error:  # of any kind: without a library there are no devices
        return Unknown(f"llama.cpp cannot be asked ({error})")


def read_driver() -> str | Unknown:
    """NVIDIA's driver version, by NVML, where that is installed."""
    name = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
    try:
        nvml: Any = ctypes.CDLL(name)
        text = ctypes.create_string_buffer(96)
        if nvml.nvmlInit_v2() != 0:
            return Unknown("NVML does not start")
        failed = nvml.nvmlSystemGetDriverVersion(text, ctypes.c_uint(96))
        nvml.nvmlShutdown()
    except (OSError, AttributeError) as error:
        return Unknown(f"there is no NVML ({error})")
    return Unknown("NVML does not tell") if failed else text.value.decode("utf-8", "replace")


def _device(device: Reported) -> Device:
    kind = cast(DeviceKind, device.kind if device.kind in _KINDS else "OTHER")
    total = _size(device.total_bytes)
    free = _size(device.free_bytes)
    if isinstance(free, int) and isinstance(total, int):
        free = min(free, total) if total else free
        if not total and not free:
            total = free = Unknown("its backend reports no memory")
    return Device(
        name=device.name,
        description=device.description,
        kind=kind,
        free_bytes=free,
        total_bytes=total,
        is_unified=kind == "IGPU" or device.name.startswith(_UNIFIED),
        overhead_bytes=_CUDA_POOL_BYTES if device.name.startswith(_CUDA) else 0,
    )


def _size(value: float) -> int | Unknown:
    """A sane number of bytes; drivers have reported NaN, and numbers beyond any memory."""
    if value != value or not 0 <= value < _LARGEST:
        return Unknown(f"its backend reports {value} bytes")
    return int(value)
