"""What the first paint costs: the whole process's CPU until the prompt is on the terminal.

`python -m tests.tui.first_paint [runs]` prints it for the `edgespec` command with a model that
never comes, for the chat's screen alone, and for a bare Textual app with one input, which is the
floor: in less than a minute on a quiet machine. They take turns, and the least counts: others on
the machine can only make a run dearer. Linux only.
"""

import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNS = 15
PATIENCE_S = 30.0
COLUMNS, ROWS = 120, 34
SIGN = b"essage   Enter"
"""Of the placeholder; the cursor stands on its first letter."""

_BARE = """
from textual.app import App
from textual.widgets import Input

class Bare(App):
    def compose(self):
        yield Input(placeholder="Message   Enter")

Bare().run()
"""
_SCREEN = """
from edgespec.tui.start import hurried

def open_chat():
    from edgespec.chat.controller import ChatController

    return ChatController(), None

with hurried():
    from edgespec.tui.app import EdgespecApp

    EdgespecApp(open_chat=open_chat).run()
"""
_COMMAND = "import tests.cli.scripted_main"
PROGRAMS: dict[str, Sequence[str]] = {
    "the command": ("-c", _COMMAND, "chat", "--target", "model.gguf"),
    "the screen alone": ("-c", _SCREEN),
    "a bare Textual app": ("-c", _BARE),
}


def cpu_ms(program: Sequence[str], home: Path) -> float:
    """CPU milliseconds of a new process until its prompt is on the terminal."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    child = subprocess.Popen(
        [sys.executable, *program],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=home,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "EDGESPEC_HOME": str(home),
            "SCRIPT_LOAD": "hold",
        },
        start_new_session=True,
    )
    written, deadline_s = b"", time.monotonic() + PATIENCE_S
    try:
        while SIGN not in written:
            assert time.monotonic() < deadline_s, written[-2000:]
            if select.select([leader], [], [], 0.1)[0]:
                written += os.read(leader, 65536)
        return _spent_ms(child.pid)
    finally:
        child.kill()
        child.wait()
        os.close(leader)
        os.close(follower)


def _spent_ms(pid: int) -> float:
    """By all threads so far; a scheduler's tick would be too coarse."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def figures(runs: int = RUNS) -> dict[str, list[float]]:
    """Every program's CPU milliseconds, one for each run."""
    spent: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.gguf").write_bytes(b"GGUF")
        for _ in range(runs):
            for name, program in PROGRAMS.items():
                spent[name].append(cpu_ms(program, Path(folder)))
    return spent


def main(runs: int) -> None:
    """Print them."""
    for name, spent in figures(runs).items():
        least, median = min(spent), statistics.median(spent)
        print(f"{name:<24}{least:4.0f} ms of CPU at least, {median:4.0f} in the median")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
