"""Line by line at a terminal: what is typed or pasted is never lost, whatever ends the process."""

import signal
import sys
import time
from collections.abc import Callable

import pytest

from edgespec.history.library import Library, history_path
from tests.cli.processes import COMMAND, PATIENCE_S, at_terminal, in_terminal

HELD = {"SCRIPT_TEXT": "one two three four five six seven", "SCRIPT_HOLD_AT": "3"}


def until(is_reached: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_reached():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_closed_terminal_ends_the_line_chat_with_all_text_kept(gguf: str) -> None:
    with at_terminal("-m", gguf, "--plain", **HELD) as (process, screen):
        screen.until("you> ")
        screen.type(b"Hi\n")
        screen.until("one")
        process.send_signal(signal.SIGHUP)

        assert process.wait(PATIENCE_S) == 143

    turn = Library().last().turns[0]
    assert (turn.prompt, turn.status) == ("Hi", "stopped")
    assert turn.text.startswith("one")


def test_line_being_typed_survives_a_kill_with_those_above_it(gguf: str) -> None:
    with at_terminal("-m", gguf, "--plain") as (process, screen):
        screen.until("you> ")
        screen.type(b"first line\\\n")
        screen.until("... ")
        screen.type(b"half of the sec")
        screen.until("half of the sec")
        kept = history_path().parent / f"unsent-{process.pid}.txt"
        until(lambda: kept.exists() and kept.read_text().endswith("the sec"))

    with at_terminal("-m", gguf, "--plain", SCRIPT_TEXT="Hello.") as (_, screen):
        screen.until("first line")
        screen.until("half of the sec")
        screen.type(b"ond\n")
        screen.until("Hello.")
        until(lambda: Library().last() is not None)

        assert Library().last().turns[0].prompt == "first line\nhalf of the second"


@pytest.mark.parametrize(
    ("term", "pasted"),
    [("xterm-256color", b"\x1b[200~one\r\rtwo\x1b[201~"), ("dumb", b"one\r\rtwo")],
)
def test_pasted_lines_are_one_message(term: str, pasted: bytes, gguf: str) -> None:
    with at_terminal("-m", gguf, "--plain", TERM=term, SCRIPT_TEXT="Hello.") as (_, screen):
        screen.until("you> ")
        screen.type(pasted)
        screen.until("two")
        screen.type(b"\r")
        screen.until("Hello.")
        until(lambda: Library().last() is not None)

        assert [turn.prompt for turn in Library().last().turns] == ["one\n\ntwo"]


# readline calls this hook between the prompt and the first key, as a busy machine would.
SLOW = f"""
import ctypes, readline, runpy, time
hook = ctypes.c_void_p.in_dll(ctypes.CDLL(readline.__file__), "rl_pre_input_hook")
slow = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: time.sleep(0.2) or 0)
hook.value = ctypes.cast(slow, ctypes.c_void_p).value
runpy.run_path({COMMAND[-1]!r})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the hook is GNU readline's")
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_lines_typed_before_they_were_asked_for_are_messages_on_a_slow_machine(
    term: str, gguf: str
) -> None:
    slow = (sys.executable, "-c", SLOW)

    in_terminal(
        "-m",
        gguf,
        "--plain",
        typed="one\ntwo\n/quit\n",
        command=slow,
        TERM=term,
        SCRIPT_TEXT="Yes.",
    )

    assert [turn.prompt for turn in Library().last().turns] == ["one", "two"]
