"""What llama.cpp's own backends report: devices with kind and memory. Reads, never decides."""

import ctypes
from dataclasses import dataclass

from edgespec.engine import binding

_KINDS = {0: "CPU", 1: "GPU", 2: "IGPU", 3: "ACCEL"}


@dataclass(frozen=True, slots=True)
class Device:
    """One device of the backend registry."""

    name: str
    description: str
    kind: str
    free_bytes: int
    total_bytes: int


def devices() -> tuple[Device, ...]:
    """Every device of the loaded build; a CPU-only build has one."""
    ggml = binding.ggml()
    found = []
    for i in range(ggml.ggml_backend_dev_count()):
        handle = ggml.ggml_backend_dev_get(i)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        ggml.ggml_backend_dev_memory(handle, ctypes.byref(free), ctypes.byref(total))
        found.append(
            Device(
                name=ggml.ggml_backend_dev_name(handle).decode(),
                description=ggml.ggml_backend_dev_description(handle).decode(),
                kind=_KINDS.get(ggml.ggml_backend_dev_type(handle), "OTHER"),
                free_bytes=free.value,
                total_bytes=total.value,
            )
        )
    return tuple(found)


def has_gpu() -> bool:
    """Whether this build can use a GPU that is there."""
    return any(device.kind in ("GPU", "IGPU") for device in devices())
