"""SIGINT, SIGTERM and SIGKILL at every phase, in real processes."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from edgespec.history.library import Library, history_path
from tests.cli.processes import COMMAND, PATIENCE_S, at_terminal, environment, in_terminal

HOLD_AFTER_A_WORD = {"SCRIPT_TEXT": "one two three four five six seven", "SCRIPT_HOLD_AT": "3"}


@contextmanager
def started(*arguments: str, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**extra),
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_keeps_the_partial_answer_and_tells_stats(
    number: signal.Signals, code: int, gguf: str
) -> None:
    with started("-m", gguf, "-p", "Hi", "--stats", **HOLD_AFTER_A_WORD) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.close()
        first = process.stdout.read(1)
        process.send_signal(number)
        out, err = first + process.stdout.read(), process.stderr.read()

        assert process.wait() == code
    assert out == b"one two three four\n"
    assert b"4 tokens" in err
    assert b"Traceback" not in err


def test_line_chat_stops_at_the_first_interrupt_and_leaves_at_the_second(gguf: str) -> None:
    with started("-m", gguf, "--plain", **HOLD_AFTER_A_WORD) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"Hi\n")
        process.stdin.flush()
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        kept = first + process.stdout.readline()
        told = process.stderr.readline() + process.stderr.readline()
        process.send_signal(signal.SIGINT)

        assert process.wait() == 130
    assert kept == b"one two three four\n"
    assert told.endswith(b"[stopped]\n")


def test_kill_in_an_answer_leaves_prompt_and_partial_text_to_continue(gguf: str) -> None:
    with started("-m", gguf, "--plain", **HOLD_AFTER_A_WORD) as process:
        assert process.stdin is not None
        process.stdin.write(b"Hi\n")
        process.stdin.flush()
        deadline = time.monotonic() + PATIENCE_S
        while not (history_path().exists() and Library().search("four")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()

    ended = subprocess.run(
        [*COMMAND, "-m", gguf, "--plain", "--continue"],
        stdin=subprocess.DEVNULL,
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert "you: Hi\n\none two three four\n[stopped]\n" in ended.stderr
    assert Library().check() == []


def test_interrupt_at_the_prompt_keeps_the_line_and_the_second_one_leaves(gguf: str) -> None:
    with at_terminal("-m", gguf, "--plain", SCRIPT_TEXT="Hello.") as (process, screen):
        screen.until("you> ")
        screen.type(b"half typed")
        screen.until("half typed")
        process.send_signal(signal.SIGINT)
        screen.until("you> ")
        screen.type(b"\x1b[A\n")  # Up, Enter
        screen.until("Hello.")
        for _ in range(2):
            screen.until("you> ")
            process.send_signal(signal.SIGINT)

        assert process.wait(PATIENCE_S) == 130

    assert screen.text.count("cleared; Up brings it back, Ctrl-C again leaves") == 2
    assert [turn.prompt for turn in Library().last().turns] == ["half typed"]


# readline calls this hook between the prompt and its select(); pause() stays there until a signal.
EARLY = f"""
import ctypes, readline, runpy
hook = ctypes.c_void_p.in_dll(ctypes.CDLL(readline.__file__), "rl_pre_input_hook")
hook.value = ctypes.cast(ctypes.CDLL(None).pause, ctypes.c_void_p).value
runpy.run_path({COMMAND[-1]!r})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the hook is GNU readline's")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_between_the_prompt_and_the_wait_is_not_missed(
    number: signal.Signals, code: int, gguf: str
) -> None:
    early = (sys.executable, "-c", EARLY)
    with at_terminal("-m", gguf, "--plain", command=early) as (process, screen):
        for _ in range(2 if number == signal.SIGINT else 1):
            screen.until("you> ")
            time.sleep(0.2)  # in pause()
            process.send_signal(number)

        assert process.wait(PATIENCE_S) == code


def test_interrupted_load_leaves_no_status_behind(gguf: str) -> None:
    code, shown = in_terminal(
        "-m", gguf, "--plain", interrupt_at="40%", SCRIPT_LOAD="hold", SCRIPT_AT_EXIT="in order"
    )

    assert code == 130
    assert shown == "loading m, 40%\r\x1b[K\n"


QUIT_WHILE_LOADING = """
import atexit, threading
from edgespec.chat.controller import ChatController
from edgespec.cli.main import main
atexit.register(print, "in order", flush=True)
ChatController().load(lambda tell: threading.Event().wait())
main(["paths"])
"""


def test_quitting_while_a_model_loads_does_not_wait_for_native_code() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", QUIT_WHILE_LOADING],
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 0
    assert "hub cache" in ended.stdout
    assert "in order" not in ended.stdout


def test_command_without_a_load_ends_in_order(gguf: str) -> None:
    ended = subprocess.run(
        [*COMMAND, "-m", gguf, "-p", "Hi"],
        stdin=subprocess.DEVNULL,
        env=environment(SCRIPT_TEXT="fine", SCRIPT_AT_EXIT="in order"),
        capture_output=True,
    )

    assert ended.stdout == b"fine\nin order\n"


INTERRUPTED_IMPORT = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from edgespec.__main__ import main
main()
"""


def test_interrupt_during_start_up_shows_no_traceback() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT],
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
