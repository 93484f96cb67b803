"""Where and with what was measured: versions, machine, commit."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import edgespec
from edgespec.bench.revive import plain
from edgespec.hardware.types import Unknown

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
    from edgespec.hardware.probe import probe

    report = probe()
    cpu, memory = report.cpu, report.memory
    return {
        "system": f"{platform.system()} {platform.release()}",
        "cpu": cpu.machine if isinstance(cpu.name, Unknown) else cpu.name,
        "cores": {
            "physical": cpu.n_physical,
            "logical": cpu.n_logical,
            "usable": cpu.n_threads,
        },
        "memory_bytes": None if isinstance(memory.total_bytes, Unknown) else memory.total_bytes,
        "devices": [f"{device.kind} {device.description}" for device in report.devices],
        "load": load(),
        "report": plain(report),
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


def version_of(package: str) -> str:
    """The installed version, or that there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
