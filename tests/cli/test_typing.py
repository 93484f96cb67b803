"""Line by line at a terminal: what is typed or pasted is never lost, whatever ends the process."""

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from edgespec.history.library import Library, history_path
from tests.cli.processes import COMMAND, Shown, environment

HELD = {"SCRIPT_TEXT": "one two three four five six seven", "SCRIPT_HOLD_AT": "3"}


@contextmanager
def at_terminal(*arguments: str, **extra: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process at a terminal, and that terminal's other end."""
    ours, theirs = pty.openpty()
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(**extra),
        start_new_session=True,
    )
    signal.signal(signal.SIGHUP, before)
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def until(is_reached: Callable[[], bool]) -> None:
    """Wait for it, half a minute at most."""
    deadline_s = time.monotonic() + 30
    while not is_reached():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_closed_terminal_ends_the_line_chat_with_all_text_kept(gguf: str) -> None:
    with at_terminal("-m", gguf, "--plain", **HELD) as (process, ours):
        screen = Shown(ours)
        screen.until("you> ")
        os.write(ours, b"Hi\n")
        screen.until("one")
        process.send_signal(signal.SIGHUP)

        assert process.wait(timeout=30) == 143

    turn = Library().last().turns[0]
    assert (turn.prompt, turn.status) == ("Hi", "stopped")
    assert turn.text.startswith("one")


def test_line_being_typed_survives_a_kill_with_those_above_it(gguf: str) -> None:
    with at_terminal("-m", gguf, "--plain") as (process, ours):
        screen = Shown(ours)
        screen.until("you> ")
        os.write(ours, b"first line\\\n")
        screen.until("... ")
        os.write(ours, b"half of the sec")
        screen.until("half of the sec")
        kept = history_path().parent / f"unsent-{process.pid}.txt"
        until(lambda: kept.exists() and kept.read_text().endswith("the sec"))

    with at_terminal("-m", gguf, "--plain", SCRIPT_TEXT="Hello.") as (_, ours):
        screen = Shown(ours)
        screen.until("first line")
        screen.until("half of the sec")
        os.write(ours, b"ond\n")
        screen.until("Hello.")
        until(lambda: Library().last() is not None)

        assert Library().last().turns[0].prompt == "first line\nhalf of the second"


@pytest.mark.parametrize(
    ("term", "pasted"),
    [("xterm-256color", b"\x1b[200~one\r\rtwo\x1b[201~"), ("dumb", b"one\r\rtwo")],
)
def test_pasted_lines_are_one_message(term: str, pasted: bytes, gguf: str) -> None:
    with at_terminal("-m", gguf, "--plain", TERM=term, SCRIPT_TEXT="Hello.") as (_, ours):
        screen = Shown(ours)
        screen.until("you> ")
        time.sleep(0.2)  # a person looks at the prompt first
        os.write(ours, pasted)
        screen.until("two")
        os.write(ours, b"\r")
        screen.until("Hello.")
        until(lambda: Library().last() is not None)

        assert [turn.prompt for turn in Library().last().turns] == ["one\n\ntwo"]
