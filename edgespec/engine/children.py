"""Python processes that we start: what they need to find our code, and how they ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from edgespec.engine.threads import set_wait_policy

# A child that ends by one of these was killed by its own code; by others, from outside.
_FAULTS: Final = ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT", "SIGTRAP", "SIGSYS")
_WINDOWS_FAULT: Final = 0xC0000000
"""Windows exit codes from here on are exceptions: 0xC000001D is an illegal instruction."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended."""

    status: int | None
    """Its exit status, negative for a signal; None: it never ran, or not to its end."""
    said: str
    """The last line that it wrote, or why it has no status."""

    @property
    def fault(self) -> str:
        """What its own code was killed by, as "SIGILL"; empty if nothing of that kind."""
        if self.status is None:
            return ""
        if self.status >= _WINDOWS_FAULT:
            return f"exception {self.status:#010x}"
        return self.signal if self.signal in _FAULTS else ""

    @property
    def signal(self) -> str:
        """The signal that ended it, whoever sent it; empty if none did."""
        try:
            return signal.Signals(-(self.status or 0)).name
        except ValueError:
            return ""


def run(command: Sequence[str], *, timeout_s: float) -> Ended:
    """Run a child to its end; its output goes nowhere else."""
    try:
        child = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            env=environment(),
            start_new_session=True,  # Ctrl-C is for this process, which then kills the child
        )
    except subprocess.TimeoutExpired:
        return Ended(None, f"the child was not done after {timeout_s:g} s")
    except OSError as error:
        return Ended(None, f"the child could not be started: {error}")
    lines = child.stdout.decode("utf-8", "replace").strip().splitlines()
    return Ended(child.returncode, lines[-1] if lines else "nothing")


def environment() -> dict[str, str]:
    """The environment of a child that runs a module of ours."""
    environ = dict(os.environ)
    set_wait_policy(environ)
    environ["GGML_NO_BACKTRACE"] = "1"  # an abort would start a debugger
    environ["PYTHONPATH"] = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return environ
