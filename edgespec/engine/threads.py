"""How many cores are really there, and how OpenMP's threads wait for each other.

Reads what the system says; knows nothing of models. Light enough to run before the native
library is loaded, which is when the wait policy has to be set.
"""

import os
import sys
from collections.abc import Callable, Collection, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from edgespec.engine.cpu_quota import Read, cpu_quota


@dataclass(frozen=True, slots=True)
class Cores:
    """The limits on useful compute threads; each may be the smallest."""

    physical: int
    """Cores within the affinity; hyper-threads share one, efficiency cores do not count."""
    logical: int
    """Processors within the affinity."""
    quota: float | None
    """Processors' worth of time that the control group may use; None: no limit."""

    @property
    def usable(self) -> int:
        """Compute threads that can run at the same time, at least 1.

        A quota is rounded down: threads that wait for one another at every matrix are as slow
        as the one that is throttled.
        """
        count = min(self.physical, self.logical)
        if self.quota is not None:
            count = min(count, int(self.quota))
        return max(1, count)


def default_threads() -> int:
    """The threads to compute with when nobody says otherwise."""
    return cores().usable


def cores() -> Cores:
    """The cores this process may use now."""
    cpus = _affinity()
    return Cores(physical_cores(cpus, read_text, _physical), len(cpus), cpu_quota(read_text))


def set_wait_policy(environ: MutableMapping[str, str] = os.environ) -> None:
    """Let OpenMP's threads sleep at barriers instead of spinning, unless the user chose.

    As many spinning threads as cores slow each other down 10 to 30 times as soon as anything
    else runs, the user interface for example. Both GNU's and LLVM's run-time read this variable
    once, when the native library is loaded; LLVM's sets its block time to 0 by it.
    """
    if not any(name in environ for name in _WAIT_VARIABLES):
        environ["OMP_WAIT_POLICY"] = "passive"


_WAIT_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


def physical_cores(
    cpus: Collection[int], read: Read, whole_machine: Callable[[], int | None]
) -> int:
    """Cores behind the processors `cpus`; `whole_machine` counts where `read` finds nothing.

    On a hybrid processor only performance cores count, if `cpus` has any.
    """
    fast = _cpu_list(read("/sys/devices/cpu_core/cpus") or "")
    counted = fast.intersection(cpus) or set(cpus)
    siblings = [
        read(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in counted
    ]
    if siblings and all(siblings):
        return len(set(siblings))
    return min(whole_machine() or len(cpus), len(cpus))


def _cpu_list(text: str) -> set[int]:
    """The numbers of a list like "0-3,8"."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first:
            cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    import psutil  # 30 ms, and only where the standard library cannot tell

    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):
        return set(process.cpu_affinity())
    return set(range(os.cpu_count() or 1))  # macOS has no affinity


def _physical() -> int | None:
    if sys.platform == "darwin":
        return _performance_cores()
    import psutil

    count: int | None = psutil.cpu_count(logical=False)
    return count


def _performance_cores() -> int | None:
    """Apple's fast cores: an efficiency core would hold up every matrix."""
    import ctypes

    count, size = ctypes.c_int32(), ctypes.c_size_t(4)
    names = (b"hw.perflevel0.physicalcpu", b"hw.physicalcpu")
    sysctl = ctypes.CDLL(None).sysctlbyname
    for name in names:
        if sysctl(name, ctypes.byref(count), ctypes.byref(size), None, ctypes.c_size_t(0)) == 0:
            return count.value
    return None


def read_text(path: str) -> str | None:
    """A text of the system's, as in /proc and /sys; None where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
