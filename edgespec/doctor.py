"""What `edgespec doctor` finds out about this machine: build, devices, memory, models.

Reads and judges, never changes anything. Gives data; the CLI and the TUI show it.
"""

import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import edgespec
from edgespec import paths
from edgespec.bench.facts import version_of
from edgespec.errors import EdgespecError
from edgespec.hardware.types import Unknown
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


def report(rpc: str = "") -> Report:
    """Look at everything; what cannot be found out becomes a finding, never an error.

    `rpc`: workers to ask too, as "host:port,host:port". On the first use of a llama.cpp build
    this runs the first-decode guard (a second or two).
    """
    parts: dict[str, Callable[[], Iterator[Finding]]] = {
        "build": _build,
        **({"workers": partial(_workers, rpc)} if rpc else {}),
        "devices": _devices,
        "machine": _machine,
        "models": _models,
        "drafters": _drafters,
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


def _workers(rpc: str) -> Iterator[Finding]:
    """What each worker lends; those that can be had are among the devices below."""
    from edgespec.engine.rpc.client import connect
    from edgespec.engine.rpc.endpoint import endpoints_of

    for worker in endpoints_of(rpc):
        try:
            names = connect(worker)
        except EdgespecError as error:
            yield Finding(str(worker), error.message, is_problem=True, hint=error.hint)
        else:
            yield Finding(str(worker), f"lends {', '.join(names)}")


def _devices() -> Iterator[Finding]:
    from edgespec.hardware.gpu import read_driver
    from edgespec.hardware.probe import probe

    found = probe()
    for device in found.devices:
        if device.kind == "CPU":  # whose memory is told below, with its limits
            yield Finding(device.kind, f"{device.name}: {device.description}")
            continue
        memory = f"{_amount(device.free_bytes)} of {_amount(device.total_bytes)} free"
        yield Finding(device.kind, f"{device.name}: {device.description}, {memory}")
    for note in found.notes:
        yield Finding("problem", note, is_problem=True, hint="edgespec doctor --debug shows where")
    if not found.gpus:
        yield Finding("backend", "CPU-ONLY build of llama.cpp: no GPU will be used")
    elif isinstance(driver := read_driver(), str):
        yield Finding("NVIDIA driver", driver)


def _machine() -> Iterator[Finding]:
    from edgespec.hardware.probe import probe

    found = probe()
    cpu, memory = found.cpu, found.memory
    quota = f", quota {cpu.quota:.1f}" if cpu.quota is not None else ""
    yield Finding("system", f"{platform.system()} {platform.release()} on {platform.machine()}")
    if isinstance(cpu.name, str):
        yield Finding("processor", cpu.name)
    counted = f"{cpu.n_physical} physical, {cpu.n_logical} logical{quota}"
    yield Finding("cores", f"{counted}: {cpu.n_threads} threads by default")
    if not isinstance(cpu.instructions, Unknown):
        yield Finding("instructions", ", ".join(cpu.instructions) or "none that count")
    if isinstance(memory.available_bytes, Unknown):
        reason = memory.available_bytes.reason
        yield Finding("problem", f"memory is not known: {reason}", is_problem=True)
    else:
        limited = f", by {memory.limit}" if memory.limit else ""
        amounts = f"{_amount(memory.available_bytes)} of {_amount(memory.total_bytes)} available"
        yield Finding("memory", amounts + limited)
    if policy := os.environ.get("OMP_WAIT_POLICY"):
        yield Finding("OMP_WAIT_POLICY", policy)


def _amount(size: int | Unknown) -> str:
    return f"? ({size.reason})" if isinstance(size, Unknown) else gibibytes(size)


def _models() -> Iterator[Finding]:
    from edgespec.models.catalogue import load_catalogue
    from edgespec.store import list_installed

    found = list_installed(load_catalogue())
    for model in found:
        yield Finding(model.spec.id, f"{gigabytes(model.size_bytes)}, {model.path}")
    if not found:
        yield Finding("none", "no model is on this machine yet", hint="edgespec pull smollm2-135m")


def _drafters() -> Iterator[Finding]:
    """Those that other distributions brought; one that cannot be used is mended, or uninstalled."""
    from edgespec.drafters import DRAFTERS, third_party

    yield Finding("edgespec", ", ".join(DRAFTERS))
    for one in third_party.checked(DRAFTERS):
        origin = f"{one.distribution}: {one.target}" if one.distribution else one.target
        if not one.refusal:
            yield Finding(one.name, origin)
            continue
        package = one.distribution.split()[0] if one.distribution else "its package"
        yield Finding(
            one.name,
            f"{origin} cannot be used: {one.refusal}",
            is_problem=True,
            hint=f"update or uninstall {package}",
        )


def _folders() -> Iterator[Finding]:
    yield Finding("models", str(paths.models_dir()))
    yield Finding("hub cache", str(paths.hub_cache()))
