"""Restores the terminal when this process dies without a chance to: by a native abort, a kill.

A shell of a few hundred kilobytes waits on a pipe. It reads "ok" when the app has left in order;
when the pipe just ends, nobody else is left to do it.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)

_WHAT_THE_APP_SET = (
    r"\033[<u\033[?2004l\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?1015l\033[?1004l"
    r"\033[?7h\033[?25h\033[?1049l\033[0m"
)
SENTENCE = "edgespec died: killed, or by a fault in native code. edgespec chat --continue goes on"
# A shell that asks for its next command sooner has modes of its own, with keys that signal.
_SCRIPT = f"""
trap '' HUP INT TTOU
exec 3>&1
read -r word
[ "$word" = ok ] && exit 0
case $(stty -a <&3) in *-isig*) stty "$1" <&3 ;; esac
printf '{_WHAT_THE_APP_SET}\\r\\n%s\\r\\n' '{SENTENCE}' >&3
"""


@contextmanager
def guarded_terminal() -> Iterator[None]:
    """While this lasts, the terminal survives whatever becomes of the process."""
    guardian = _start()
    try:
        yield
    finally:
        if guardian is not None and guardian.stdin is not None:
            try:
                guardian.stdin.write(b"ok\n")
                guardian.stdin.close()
            except OSError:
                logger.debug("the terminal's guardian is gone")
            guardian.wait()


def _start() -> "subprocess.Popen[bytes] | None":
    if sys.platform == "win32" or not os.isatty(0):
        return None
    try:
        modes = subprocess.run(["stty", "-g"], stdin=0, capture_output=True, text=True, check=True)
        # a session of its own: a signal for this process group must not end it too
        return subprocess.Popen(
            ["sh", "-c", _SCRIPT, "sh", modes.stdout.strip()],
            stdin=subprocess.PIPE,
            stdout=0,  # the terminal, open for both ways
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        logger.debug("no guardian for the terminal: %s", error)
        return None
