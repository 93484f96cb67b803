"""The command as a real process: started, fed, watched in a terminal of its own, ended."""

import codecs
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0


COMMAND = (sys.executable, str(Path(__file__).with_name("scripted_main.py")))


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **extra}


class Shown:
    """What a terminal shows, read step by step, and the keys typed into it."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._at = 0
        self.text = ""

    def type(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def until(self, words: str) -> None:
        """Wait for `words` after those waited for before."""
        while (found := self.text.find(words, self._at)) < 0:
            assert self._reads_more(), self.text
        self._at = found + len(words)

    def to_the_end(self) -> str:
        """All of it, once the process is gone."""
        while self._reads_more():
            pass
        return self.text.replace("\r\n", "\n")

    def _reads_more(self) -> bool:
        """False at the end."""
        assert select.select([self._terminal], [], [], PATIENCE_S)[0], self.text
        piece = b""
        with suppress(OSError):  # Linux's end of a terminal whose other side is closed
            piece = os.read(self._terminal, 4096)
        self.text += self._decoder.decode(piece)
        return bool(piece)


@contextmanager
def at_terminal(
    *arguments: str, typed: str = "", command: Sequence[str] = COMMAND, **extra: str
) -> Iterator[tuple[subprocess.Popen[bytes], Shown]]:
    """The command in a terminal, where `typed` was typed before it began.

    It is killed at the end of the block: no later test finds what a failed one left.
    """
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed.encode())
        with _listening_to_hangups():
            process = subprocess.Popen(
                [*command, *arguments],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env=environment(**extra),
                start_new_session=True,
            )
        os.close(theirs)
        with process:
            try:
                yield process, Shown(ours)
            finally:
                process.kill()
    finally:
        os.close(ours)


@contextmanager
def _listening_to_hangups() -> Iterator[None]:
    """Under nohup a child would ignore SIGHUP."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def in_terminal(
    *arguments: str,
    typed: str = "",
    interrupt_at: str = "",
    command: Sequence[str] = COMMAND,
    **extra: str,
) -> tuple[int, str]:
    """Exit code and everything shown by the command in a terminal where `typed` is typed.

    `interrupt_at`: what has to be shown before SIGINT comes, once.
    """
    with at_terminal(*arguments, typed=typed, command=command, **extra) as (process, screen):
        if interrupt_at:
            screen.until(interrupt_at)
            process.send_signal(signal.SIGINT)
        shown = screen.to_the_end()
        return process.wait(PATIENCE_S), shown


HOSTILE = (
    "a\x1b]52;c;cHdu\x07\x1b[2Jb\u202ecod\u2028next\x85line\r\x9b31mred "
    "\U0001f468\u200d\U0001f469 e\u0301"
)
