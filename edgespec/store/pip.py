"""Fetches one wheel through the pip of the running interpreter: its index, proxy and certificates.

The wheel is only downloaded; nothing of it is installed or run.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from edgespec.store.job import SourceFailed

_POLL_S = 0.1
_STOP_S = 3.0
# pip, which ends with the process that started it: a killed one closes its end of the pipe. Else an
# orphan would go on fetching what the next pull fetches too.
_TIED_PIP = """
import os, runpy, threading
def watch():
    os.read(0, 1)
    os._exit(1)
threading.Thread(target=watch, daemon=True).start()
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
INCOMING = "incoming-"
"""How folders of unfinished downloads begin."""


def require_pip() -> None:
    """Raises: `SourceFailed` when the interpreter has no pip, as in environments made by uv."""
    is_frozen = getattr(sys, "frozen", False) or not sys.executable
    if is_frozen or importlib.util.find_spec("pip") is None:
        raise SourceFailed(
            "this Python has no pip to ask the index with",
            hint=f"{sys.executable or 'python'} -m ensurepip",
        )


def download(requirement: str, wheel: Path, tell_bytes: Callable[[int], None]) -> None:
    """Put the wheel of `requirement` at `wheel`; `tell_bytes` gets what has come so far.

    An exception in `tell_bytes` stops pip and leaves nothing. Raises: `SourceFailed`.
    """
    with _incoming(wheel.parent) as incoming, tempfile.TemporaryFile(dir=incoming) as complaints:
        process = subprocess.Popen(
            _command(requirement, incoming),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            env=_environment(incoming),
        )
        try:
            while process.poll() is None:
                tell_bytes(_size_below(incoming))
                _wait(process, _POLL_S)
        finally:
            _stop(process)
        complaints.seek(0)
        said = complaints.read().decode("utf-8", "replace")
        found = list(incoming.glob("*.whl"))
        if process.returncode != 0 or len(found) != 1:
            raise SourceFailed(f"pip could not fetch {requirement}: {_gist(said)}")
        os.replace(found[0], wheel)


def _command(requirement: str, folder: Path) -> list[str]:
    # -P: a folder called pip in the working folder is not pip. Wheels only: building one would run
    # its code. No cache: it would hold every byte a second time.
    return [
        *(sys.executable, "-P", "-c", _TIED_PIP, "download", "--quiet", "--no-input"),
        *("--no-deps", "--only-binary=:all:", "--ignore-requires-python"),
        *("--no-cache-dir", "--disable-pip-version-check", "--dest", str(folder), requirement),
    ]


def _environment(incoming: Path) -> dict[str, str]:
    # pip writes into its temporary folder first; here its progress can be seen, and room counts.
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(incoming))
    return {**os.environ, **temporary, "PYTHONIOENCODING": "utf-8"}


@contextmanager
def _incoming(folder: Path) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix=INCOMING, dir=folder))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    if process.poll() is None:
        process.terminate()
        _wait(process, _STOP_S)
    if process.poll() is None:
        process.kill()
        process.wait()


def _size_below(folder: Path) -> int:
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(top, name)).st_size
            except FileNotFoundError:
                continue  # pip moved it meanwhile
    return total


def _gist(said: str) -> str:
    """The line that says why: pip's last error, else its last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    last = (errors or lines or ["it gave no reason"])[-1]
    return re.sub(r"^(ERROR|WARNING): ", "", last)
