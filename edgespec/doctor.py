"""What `edgespec doctor` finds out about this machine: build, devices, memory, models.

Reads and judges, never changes anything. Gives data; the CLI and the TUI show it.
"""

import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import edgespec
from edgespec import paths
from edgespec.bench.facts import version_of
from edgespec.errors import EdgespecError
from edgespec.sizes import gibibytes, gigabytes

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact, or one problem with what to do about it."""

    name: str
    value: str
    is_problem: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Facts that belong together."""

    title: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was found."""

    sections: tuple[Section, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that need something done."""
        return tuple(f for s in self.sections for f in s.findings if f.is_problem)


def report() -> Report:
    """Look at everything; what cannot be found out becomes a finding, never an error.

    On the first use of a llama.cpp build this runs the first-decode guard (a second or two).
    """
    parts: dict[str, Callable[[], Iterator[Finding]]] = {
        "build": _build,
        "devices": _devices,
        "machine": _machine,
        "models": _models,
        "folders": _folders,
    }
    return Report(tuple(Section(title, tuple(_safely(find))) for title, find in parts.items()))


def _safely(find: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from find()
    except EdgespecError as error:
        yield Finding("problem", error.message, is_problem=True, hint=error.hint)
    except Exception as error:  # of any kind: the other sections still have to be told
        _log.info("a section cannot be found out", exc_info=error)
        yield Finding(
            "problem",
            f"not to be found out: {error} ({type(error).__name__})",
            is_problem=True,
            hint="edgespec doctor --debug shows where",
        )


def _build() -> Iterator[Finding]:
    yield Finding("edgespec", edgespec.__version__)
    yield Finding("Python", f"{platform.python_version()} ({sys.executable})")
    yield Finding("llama-cpp-python", version_of("llama-cpp-python"))
    from edgespec.engine import guard

    verdict = guard.verdict()
    if verdict.notice:
        yield Finding("first decode", verdict.notice, is_problem=True)
    elif verdict.outcome == "unknown":
        yield Finding("first decode", f"not known: {verdict.text}")
    else:
        yield Finding("first decode", "sound: this build can use all of this CPU's instructions")


def _devices() -> Iterator[Finding]:
    from edgespec.engine.devices import devices

    found = devices()
    for device in found:
        memory = f"{gibibytes(device.free_bytes)} of {gibibytes(device.total_bytes)} free"
        yield Finding(device.kind, f"{device.name}: {device.description}, {memory}")
    if not any(device.kind in ("GPU", "IGPU") for device in found):
        yield Finding("backend", "CPU-ONLY build of llama.cpp: no GPU will be used")


def _machine() -> Iterator[Finding]:
    import psutil

    from edgespec.engine.threads import cores

    have = cores()
    quota = f", quota {have.quota:.1f}" if have.quota is not None else ""
    yield Finding("system", f"{platform.system()} {platform.release()} on {platform.machine()}")
    counted = f"{have.physical} physical, {have.logical} logical{quota}"
    yield Finding("cores", f"{counted}: {have.usable} threads by default")
    memory = psutil.virtual_memory()
    yield Finding("memory", f"{gibibytes(memory.available)} of {gibibytes(memory.total)} available")
    if policy := os.environ.get("OMP_WAIT_POLICY"):
        yield Finding("OMP_WAIT_POLICY", policy)


def _models() -> Iterator[Finding]:
    from edgespec.models.catalogue import load_catalogue
    from edgespec.store import list_installed

    found = list_installed(load_catalogue())
    for model in found:
        yield Finding(model.spec.id, f"{gigabytes(model.size_bytes)}, {model.path}")
    if not found:
        yield Finding("none", "no model is on this machine yet", hint="edgespec pull smollm2-135m")


def _folders() -> Iterator[Finding]:
    yield Finding("models", str(paths.models_dir()))
    yield Finding("hub cache", str(paths.hub_cache()))
