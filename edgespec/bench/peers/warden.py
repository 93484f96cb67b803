"""Ends a peer whose benchmark is gone: killed, a benchmark can end nothing itself, and a peer that
sleeps would hold its memory for ever.

The warden is a process of its own that waits on a pipe. It is dismissed in good order by a line;
when the pipe closes without one, however that came, it ends the peer.
"""

import subprocess
import sys
from contextlib import suppress

_PROGRAM = """
import os, sys
if not sys.stdin.readline():
    os.kill(int(sys.argv[1]), 9)
"""


class Warden:
    """Of one process."""

    def __init__(self, pid: int) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C and a closed terminal end the benchmark, not this
        )

    def dismiss(self) -> None:
        """The peer has ended in good order; idempotent."""
        assert self._child.stdin is not None, "a warden has a pipe"
        if self._child.stdin.closed:
            return
        with suppress(OSError):  # whoever ended it: it has nothing left to do
            self._child.stdin.write(b"\n")
            self._child.stdin.flush()
        with suppress(OSError):
            self._child.stdin.close()
        self._child.wait()
