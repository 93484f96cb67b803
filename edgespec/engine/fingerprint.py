"""Names for the installed llama.cpp build and for this CPU. Loads nothing native."""

import hashlib
import importlib.util
import platform
from collections.abc import Iterable
from pathlib import Path

_CPU_FACTS = ("vendor_id", "model name", "flags", "CPU implementer", "CPU part", "Features", "isa")


def package_folder() -> Path | None:
    """Where llama-cpp-python is installed; None if it is not."""
    spec = importlib.util.find_spec("llama_cpp")  # finds, imports nothing
    return Path(spec.origin).parent if spec and spec.origin else None


def fingerprint(package: Path, cpu: str) -> str:
    """A name for the build in `package` on `cpu`.

    From the version and the libraries' names, sizes and dates: to read them whole would take
    longer than everything else at the start of a program.
    """
    digest = hashlib.sha256(cpu.encode())
    digest.update((package / "__init__.py").read_bytes())  # states the version
    for library in sorted((package / "lib").glob("*")):
        stat = library.stat()
        digest.update(f"{library.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]


def cpu_identity() -> str:
    """The CPU's model and its instruction sets, as far as the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            facts = cpu_facts(lines)
    except OSError:
        facts = ""
    return f"{platform.machine()}\n{platform.processor()}\n{facts}"


def cpu_facts(cpuinfo: Iterable[str]) -> str:
    """The lines of the first CPU in /proc/cpuinfo that never change while it runs."""
    facts = []
    for line in cpuinfo:
        if not line.strip():
            break
        if line.startswith(_CPU_FACTS):
            facts.append(line)
    return "".join(facts)
