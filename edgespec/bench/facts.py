"""Where and with what was measured: versions, machine, commit."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import edgespec
from edgespec.bench.revive import plain

_PACKAGES = ("llama-cpp-python", "numpy")


def versions() -> dict[str, str]:
    """Of edgespec, Python and what the figures depend on."""
    return {
        "edgespec": edgespec.__version__,
        "python": platform.python_version(),
        **{name: version_of(name) for name in _PACKAGES},
    }


def hardware() -> dict[str, Any]:
    """The machine, and how busy others kept it (`load`: the last minute's average)."""
    import psutil

    from edgespec.engine.devices import devices
    from edgespec.engine.threads import cores
    from edgespec.hardware.probe import probe

    have = cores()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "cpu": _cpu(),
        "cores": {"physical": have.physical, "logical": have.logical, "usable": have.usable},
        "memory_bytes": psutil.virtual_memory().total,
        "devices": [f"{device.kind} {device.description}" for device in devices()],
        "load": load(),
        "report": plain(probe()),
    }


def load() -> float | None:
    """Processes that ran or waited to run in the last minute; None where nobody counts."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def commit() -> str | None:
    """The checkout's commit, with "+" if it was changed; None for an installed package."""
    root = Path(edgespec.__file__).parents[1]
    if not (root / ".git").exists():
        return None
    head, changed = _git(root, "rev-parse", "HEAD"), _git(root, "status", "--porcelain", "-uno")
    return head and head + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str | None:
    try:
        ended = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return ended.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def version_of(package: str) -> str:
    """The installed version, or that there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
