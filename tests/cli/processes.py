"""The command as a real process: started, fed, watched in a terminal of its own."""

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


COMMAND = (sys.executable, str(Path(__file__).with_name("scripted_main.py")))


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **extra}


def in_terminal(
    *arguments: str, typed: bytes = b"", interrupt_at: bytes | None = None, **extra: str
) -> tuple[int, str]:
    """Exit code and everything shown by the command in a terminal where `typed` is typed.

    `interrupt_at`: what has to be shown before SIGINT comes, once.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(**extra),
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
            if interrupt_at is not None and interrupt_at in shown:
                interrupt_at = None
                process.send_signal(signal.SIGINT)
    except OSError:  # Linux's end of a terminal whose other side is closed
        code = process.wait()
    os.close(ours)
    return code, shown.decode().replace("\r\n", "\n")


class Shown:
    """What a terminal shows, read step by step."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._at = 0
        self.text = ""

    def until(self, words: str) -> None:
        """Wait for `words` after those waited for before."""
        while (found := self.text.find(words, self._at)) < 0:
            is_ready, _, _ = select.select([self._terminal], [], [], 30)
            assert is_ready, self.text
            self.text += os.read(self._terminal, 4096).decode()
        self._at = found + len(words)


HOSTILE = (
    "a\x1b]52;c;cHdu\x07\x1b[2Jb\u202ecod\u2028next\x85line\r\x9b31mred "
    "\U0001f468\u200d\U0001f469 e\u0301"
)
