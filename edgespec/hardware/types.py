"""What was read of a machine: values only, what could not be read says why.

Imports nothing heavy, so that a plan for a machine that is not here can be made from it.
"""

from dataclasses import dataclass
from typing import Literal

DeviceKind = Literal["CPU", "GPU", "IGPU", "ACCEL", "OTHER"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that could not be read, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Device:
    """One device of llama.cpp's backend registry."""

    name: str
    """As the registry has it: "CUDA0", "Metal", "RPC0[127.0.0.1:50052]", "CPU"."""
    description: str
    kind: DeviceKind
    free_bytes: int | Unknown
    total_bytes: int | Unknown
    """For Apple's GPU the working-set limit, as the backend gives it."""
    is_unified: bool = False
    """Its memory is the machine's own: what lies there is missing for the CPU too."""
    overhead_bytes: int = 0
    """What the backend will take for itself beyond what `free_bytes` shows already."""

    @property
    def is_gpu(self) -> bool:
        """Whether it can hold layers beside the CPU."""
        return self.kind in ("GPU", "IGPU")


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor, as far as this process may use it."""

    name: str | Unknown
    machine: str
    """For example "x86_64", "arm64"."""
    n_physical: int
    n_logical: int
    quota: float | None
    """Processors' worth of time that the control group may use; None: no limit."""
    n_threads: int
    """Compute threads that can run at the same time."""
    instructions: tuple[str, ...] | Unknown
    """Those that llama.cpp has kernels for, in its own words: "AVX2", "AMX_INT8", "NEON"."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The machine's memory, as far as this process may use it."""

    total_bytes: int | Unknown
    available_bytes: int | Unknown
    """What can be taken now without swapping, limits included."""
    limit: str
    """What makes it less than the system's own figure, for example "cgroup memory.max"; else ""."""


@dataclass(frozen=True, slots=True)
class HardwareReport:
    """One machine, this one or one of the table."""

    name: str
    """"this machine", or the name in the table of machines."""
    cpu: Cpu
    memory: Memory
    devices: tuple[Device, ...]
    """Of the backend registry, the CPU included; on a machine of the table, of a usual build."""
    notes: tuple[str, ...] = ()
    """What could not be read, or is odd."""

    @property
    def gpus(self) -> tuple[Device, ...]:
        """The devices that can hold layers beside the CPU."""
        return tuple(device for device in self.devices if device.is_gpu)
