"""The first-decode guard: whether this llama.cpp build can decode on this CPU, found out safely.

A build whose instructions the CPU (or its compiler) does not get right dies in the first batch,
and takes the process with it. So a child process decodes a generated model first; the verdict is
kept per build and CPU. Never loads the native library into this process.
"""

import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from edgespec import paths
from edgespec.engine import children
from edgespec.engine.binding import TESTED_VERSION
from edgespec.engine.fingerprint import cpu_identity, fingerprint, package_folder
from edgespec.errors import EngineError

_log = logging.getLogger(__name__)

Outcome = Literal["sound", "no_extra_bufts", "unusable", "unknown"]
Command = Callable[[Path, bool], Sequence[str]]
"""The child's command line, from a folder it may write to and `use_extra_bufts`."""

_REINSTALL = (
    "pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python "
    f"llama-cpp-python=={TESTED_VERSION}"
)
_BY_CLANG = f"CC=clang CXX=clang++ {_REINSTALL}"
_NO_AMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
_MENDING = (
    f"build it on this machine with another compiler: {_BY_CLANG}   "
    f'or without AMX: CFLAGS="{_NO_AMX}" CXXFLAGS="{_NO_AMX}" {_REINSTALL}'
)
_UNKNOWN_LASTS_S = 86_400.0


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """What is known about this build on this CPU."""

    outcome: Outcome
    signal: str = ""
    """What killed the child, as "SIGILL"; empty if nothing did."""
    text: str = ""
    """Why the outcome is unknown; empty otherwise."""
    is_new: bool = False
    """Found out by this call: the time to say `notice`, once."""

    @property
    def use_extra_bufts(self) -> bool:
        """For the model's parameters: whether the CPU's special matrix kernels may be used."""
        return self.outcome in ("sound", "unknown")

    @property
    def notice(self) -> str:
        """One sentence for a person, with the command that mends it; empty if all is well."""
        if self.use_extra_bufts:
            return ""
        return (
            f"this llama.cpp build dies by {self.signal} in its special matrix kernels on this "
            "CPU, so edgespec runs without them and reads prompts and drafts more slowly; "
            f"to mend it for good: {_BY_CLANG}"
        )


def verdict(*, command: Command | None = None, timeout_s: float = 60.0) -> GuardVerdict:
    """The verdict on the installed build and this CPU; a few ms when it is known already.

    Where no child could find out, the outcome is "unknown" and is asked for again a day later.
    Raises: `EngineError` when the build dies in every way of decoding.
    """
    package = package_folder()
    if package is None:
        return GuardVerdict("unknown", text="llama-cpp-python is not installed")
    kept = paths.cache_dir() / "guard" / f"{fingerprint(package, cpu_identity())}.json"
    found = _read(kept)
    if found is None:
        found = _find_out(command or _first_decode, timeout_s)
        _write(kept, found)
        found = replace(found, is_new=True)
        _log.info("first-decode guard: %s", found)
    if found.outcome == "unusable":
        raise EngineError(
            f"the installed llama.cpp build dies by {found.signal} on this CPU", hint=_MENDING
        )
    return found


def _find_out(command: Command, timeout_s: float) -> GuardVerdict:
    with tempfile.TemporaryDirectory(prefix="edgespec-guard-") as folder:
        first = _run(command(Path(folder), True), timeout_s)
        if first.outcome != "unusable":
            return first
        second = _run(command(Path(folder), False), timeout_s)
    # A second child without an end of its own says nothing against the gentler way.
    return second if second.outcome == "unusable" else replace(first, outcome="no_extra_bufts")


def _run(command: Sequence[str], timeout_s: float) -> GuardVerdict:
    """Run one child: "unusable" if it was killed by a fault of its own."""
    ended = children.run(command, timeout_s=timeout_s)
    if ended.status is None:
        return GuardVerdict("unknown", text=ended.said)
    if ended.status == 0:
        return GuardVerdict("sound")
    if ended.fault:
        return GuardVerdict("unusable", signal=ended.fault)
    text = f"the child ended with {ended.status}, saying: {ended.said}"
    return GuardVerdict("unknown", text=text)


def _first_decode(folder: Path, use_extra_bufts: bool) -> Sequence[str]:
    mode = "extra" if use_extra_bufts else "plain"
    return (sys.executable, "-P", "-m", "edgespec.engine.first_decode", str(folder), mode)


def _read(kept: Path) -> GuardVerdict | None:
    """The kept verdict; None if there is none, if it is damaged, or an unknown one is old."""
    try:
        found = GuardVerdict(**json.loads(kept.read_text()))
        age_s = time.time() - kept.stat().st_mtime
    except (OSError, ValueError, TypeError):
        return None
    is_old = found.outcome == "unknown" and age_s > _UNKNOWN_LASTS_S
    return found if found.outcome in get_args(Outcome) and not is_old else None


def _write(kept: Path, found: GuardVerdict) -> None:
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(asdict(found)))
        partial.replace(kept)  # whole or not at all, whoever else asks at the same time
    except OSError as error:
        _log.warning("the guard's verdict could not be kept: %s", error)
