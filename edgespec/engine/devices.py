"""What llama.cpp's own backends report: devices with kind and memory. Reads, never decides."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgespec.engine import binding
from edgespec.engine.rpc import lent
from edgespec.errors import UsageError

_KINDS = {0: "CPU", 1: "GPU", 2: "IGPU", 3: "ACCEL"}
_GPUS = ("GPU", "IGPU")


@dataclass(frozen=True, slots=True)
class Device:
    """One device of the backend registry."""

    name: str
    description: str
    kind: str
    free_bytes: int
    total_bytes: int
    worker: str = ""
    """The `host:port` that lends it; empty for a device of this machine."""


def devices() -> tuple[Device, ...]:
    """Every device of the loaded build and of connected workers; a CPU-only build has one."""
    ggml = binding.ggml()
    found = []
    for i in range(ggml.ggml_backend_dev_count()):
        handle = ggml.ggml_backend_dev_get(i)
        name = ggml.ggml_backend_dev_name(handle).decode()
        if lent.is_lost(name):
            continue
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        ggml.ggml_backend_dev_memory(handle, ctypes.byref(free), ctypes.byref(total))
        worker = lent.worker_of(name)
        found.append(
            Device(
                name=name,
                description=f"a device of {worker}"
                if worker
                else ggml.ggml_backend_dev_description(handle).decode(),
                kind=_KINDS.get(ggml.ggml_backend_dev_type(handle), "OTHER"),
                free_bytes=free.value,
                total_bytes=total.value,
                worker=str(worker or ""),
            )
        )
    return tuple(found)


def own_gpus() -> tuple[str, ...]:
    """The GPUs of this machine that layers go to by default: integrated ones where no other is."""
    here = [device for device in devices() if not device.worker]
    gpus = [d.name for d in here if d.kind == "GPU"]
    return tuple(gpus or (d.name for d in here if d.kind == "IGPU"))


def handles(names: Sequence[str], *, kinds: Sequence[str] = _GPUS) -> Any:
    """A native array of these devices, ended by NULL; keep it as long as llama.cpp may look at it.

    Raises: `UsageError` for a name that the registry does not have, or has with another kind.
    """
    ggml = binding.ggml()
    at = {}
    for i in range(ggml.ggml_backend_dev_count()):
        handle = ggml.ggml_backend_dev_get(i)
        if _KINDS.get(ggml.ggml_backend_dev_type(handle)) in kinds:
            at[ggml.ggml_backend_dev_name(handle).decode()] = handle
    for name in names:
        if name not in at:
            raise UsageError(
                f"there is no device {name!r} of the kind {' or '.join(kinds)}",
                hint=f"there are: {', '.join(at)}" if at else "this build computes on the CPU only",
            )
    return (ctypes.c_void_p * (len(names) + 1))(*(at[name] for name in names), None)
