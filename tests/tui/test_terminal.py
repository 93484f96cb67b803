"""The chat in a child process on a real terminal: what it leaves behind."""

import fcntl
import hashlib
import io
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from edgespec.tui.guardian import _SCRIPT, SENTENCE
from edgespec.tui.terminal import never_fail_to_encode

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0
CHILD = """
import sys
from dataclasses import replace
from edgespec.chat.controller import ChatController
from edgespec.errors import ModelNotFound
from edgespec.history.keeper import Keeper
from edgespec.history.library import history_path
from edgespec.tui import actions
from edgespec.tui.app import run_chat
from tests.scripted import DESCRIPTION, Script, ScriptedLM

actions.QUIT_AGAIN_S = 30.0  # a busy machine may take more than two seconds

def open_model(tell):
    if "missing" in sys.argv:
        raise ModelNotFound("there is no such model")
    if "fault" in sys.argv:
        return ScriptedLM(description=replace(DESCRIPTION, n_ctx="no number"))
    return ScriptedLM([Script("one two three four five six", hold_at=4)])

chat = ChatController(journal=Keeper(history_path()) if "kept" in sys.argv else None)
chat.load(open_model)
sys.exit(run_chat(chat, can_color="plain" not in sys.argv))
"""
ALTERNATE_SCREEN_ON = b"\x1b[?1049h"
ALTERNATE_SCREEN_OFF = b"\x1b[?1049l"
MOUSE_OFF = b"\x1b[?1000l"


class Terminal:
    """The child, the terminal's other end, and all that the child wrote."""

    def __init__(self, *arguments: str, program: Sequence[str], **environ: str) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.modes = termios.tcgetattr(self.slave)
        self.child = subprocess.Popen(
            [sys.executable, *program, *arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
            start_new_session=True,
        )
        self.written = b""

    def read(self) -> bool:
        """Take what the child wrote; False when nothing came for a while."""
        if not select.select([self.master], [], [], 0.05)[0]:
            return False
        self.written += os.read(self.master, 65536)
        return True

    def until(self, words: str, *, typing: bytes = b"") -> None:
        """Read until the child wrote `words`, typing again and again meanwhile."""
        deadline = time.monotonic() + PATIENCE_S
        while words.encode() not in self.written:
            if not self.read():
                self.type(typing)
            assert time.monotonic() < deadline, self.written[-2000:]
            assert self.child.poll() is None, self.written[-2000:]

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def ended(self) -> int:
        """The child's exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self.child.poll() is None:
            self.read()
            assert time.monotonic() < deadline, "the child goes on"
        while self.read():
            pass
        return self.child.returncode


@contextmanager
def terminal(
    *arguments: str, program: Sequence[str] = ("-c", CHILD), **environ: str
) -> Iterator[Terminal]:
    started = Terminal(*arguments, program=program, **environ)
    try:
        yield started
    finally:
        started.child.kill()
        started.child.wait()
        os.close(started.master)
        os.close(started.slave)


def test_sigterm_while_answering_restores_the_terminal() -> None:
    with terminal() as chat:
        chat.until("READY")
        chat.type(b"count\r")
        chat.until("four")

        chat.child.send_signal(signal.SIGTERM)

        assert chat.ended() == 143
        assert ALTERNATE_SCREEN_OFF in chat.written
        assert MOUSE_OFF in chat.written
        assert termios.tcgetattr(chat.slave) == chat.modes


def test_sigint_stops_the_answer_then_quits_with_130() -> None:
    with terminal() as chat:
        chat.until("READY")
        chat.type(b"count\r")
        chat.until("four")

        chat.child.send_signal(signal.SIGINT)
        chat.until("[stopped]")
        chat.child.send_signal(signal.SIGINT)
        chat.until("again quits")
        chat.child.send_signal(signal.SIGINT)

        assert chat.ended() == 130
        assert ALTERNATE_SCREEN_OFF in chat.written


def test_ctrl_q_while_answering_ends_with_0() -> None:
    with terminal() as chat:
        chat.until("READY")
        chat.type(b"count\r")
        chat.until("four")

        chat.type(b"\x11")

        assert chat.ended() == 0
        assert ALTERNATE_SCREEN_OFF in chat.written


def test_what_was_being_typed_when_killed_is_in_the_next_prompt(tmp_path: Path) -> None:
    with terminal("kept", EDGESPEC_HOME=str(tmp_path)) as chat:
        chat.until("READY")
        chat.type(b"half a mess")
        deadline = time.monotonic() + PATIENCE_S
        while "half a mess" not in [path.read_text() for path in tmp_path.glob("unsent-*.txt")]:
            chat.read()
            assert time.monotonic() < deadline, list(tmp_path.iterdir())
        chat.child.kill()
        chat.ended()

    with terminal("kept", EDGESPEC_HOME=str(tmp_path)) as chat:
        chat.until("half a mess")
        chat.until("back in the prompt")


def test_what_an_editor_had_saved_when_killed_is_in_the_next_prompt(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "an hour of work" > "$1"; touch "$0.done"; sleep 60\n')
    editor.chmod(0o755)
    home = {"EDGESPEC_HOME": str(tmp_path), "EDITOR": str(editor), "VISUAL": ""}
    with terminal("kept", **home) as chat:
        chat.until("READY")
        chat.type(b"half a mess\x07")  # Ctrl+G
        deadline = time.monotonic() + PATIENCE_S
        while not editor.with_suffix(".done").exists():
            chat.read()
            assert time.monotonic() < deadline, chat.written[-500:]
        os.killpg(chat.child.pid, signal.SIGKILL)
        chat.ended()

    with terminal("kept", **home) as chat:
        chat.until("an hour of work")
        chat.until("back in the prompt")


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV])
def test_terminal_is_restored_when_the_process_just_dies(death: signal.Signals) -> None:
    with terminal() as chat:
        chat.until("READY")
        chat.type(b"count\r")
        chat.until("four")

        chat.child.send_signal(death)

        assert chat.ended() == -death
        deadline = time.monotonic() + PATIENCE_S
        while b"edgespec chat --continue goes on" not in chat.written:
            chat.read()
            assert time.monotonic() < deadline, chat.written[-500:]
        assert MOUSE_OFF in chat.written
        assert ALTERNATE_SCREEN_OFF in chat.written
        assert termios.tcgetattr(chat.slave) == chat.modes


@pytest.mark.parametrize("editor", ["false", "rm", "no-such-editor"])
def test_screen_is_there_again_after_an_editor_that_fails(editor: str) -> None:
    with terminal(EDITOR=editor, VISUAL="") as chat:
        chat.until("READY")
        chat.type(b"draft")
        chat.until("draft")
        chat.written = b""

        chat.type(b"\x07")  # Ctrl+G

        chat.until(" editor")
        assert ALTERNATE_SCREEN_ON in chat.written
        chat.type(b"\x11")
        assert chat.ended() == 0


def test_modes_that_a_shell_has_set_meanwhile_stay() -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    modes = termios.tcgetattr(theirs)
    modes[3] |= termios.ISIG  # as line editors do
    termios.tcsetattr(theirs, termios.TCSANOW, modes)

    subprocess.run(
        ["sh", "-c", _SCRIPT, "sh", "echo"], stdin=subprocess.DEVNULL, stdout=theirs, check=True
    )

    assert termios.tcgetattr(theirs) == modes
    assert SENTENCE in os.read(ours, 4096).decode()
    os.close(ours)
    os.close(theirs)


def test_whole_screen_is_there_again_after_fg() -> None:
    with terminal() as chat:
        chat.until("READY")
        chat.type(b"hi\r")
        chat.until("three")
        chat.until("[stopped]", typing=b"\x1b")
        chat.type(b"\x1a")
        os.waitid(os.P_PID, chat.child.pid, os.WSTOPPED | os.WNOWAIT)
        while chat.read():
            pass
        chat.written = b""
        chat.child.send_signal(signal.SIGCONT)

        for part in ("hi", "three", "[stopped]", "READY", "F1 help"):
            chat.until(part)


def test_broken_mouse_bytes_are_survived() -> None:
    with terminal() as chat:
        chat.until("READY")
        chat.type(b"\x1b[M\xff\xff\xff\x1b[<99;\xc3")
        chat.until("zzz", typing=b"z")

        chat.child.send_signal(signal.SIGTERM)

        assert chat.ended() == 143


def test_fault_of_our_own_is_a_sentence_and_restores_the_terminal() -> None:
    with terminal("fault") as chat:
        code = chat.ended()

        assert code == 1
        assert b"a fault of edgespec's own: " in chat.written
        assert b"Traceback" not in chat.written
        assert termios.tcgetattr(chat.slave) == chat.modes


def test_alt_enter_of_a_plain_terminal_breaks_the_line() -> None:
    with terminal() as chat:
        chat.until("READY")
        chat.type(b"first\x1b\rsecond")
        chat.until("second")
        chat.type(b"\x11")

        assert chat.ended() == 0
        assert "you ▸".encode() not in chat.written


def test_failed_load_is_the_exit_code() -> None:
    with terminal("missing") as chat:
        chat.until("there is no such model")

        chat.type(b"\x11")

        assert chat.ended() == 3


@pytest.mark.parametrize("environ", [{"PYTHONIOENCODING": "ascii"}, {"EDGESPEC_ASCII": "1"}])
def test_terminal_without_utf8_gets_ascii_signs(environ: dict[str, str]) -> None:
    with terminal("plain", **environ) as chat:
        chat.until("READY")
        chat.type(b"count\r")
        chat.until("four")
        chat.type(b"\x11")

        assert chat.ended() == 0
        assert chat.written.isascii()


def test_no_color_writes_no_colour() -> None:
    with terminal("plain") as chat:
        chat.until("READY")
        chat.type(b"\x11")

        assert chat.ended() == 0
        assert b"38;2;" not in chat.written
        assert b"48;2;" not in chat.written


def test_line_about_checking_the_file_is_erased_before_the_screen_opens(tmp_path: Path) -> None:
    content = b"GGUF tiny"
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.gguf").write_bytes(content)
    (tmp_path / "models.toml").write_text(
        '[models.tiny]\ntitle = "tiny"\nfile = "tiny.gguf"\nquant = "Q4"\nvocab = "v"\n'
        f'repo = "o/tiny"\nsize_bytes = {len(content)}\n'
        f'sha256 = "{hashlib.sha256(content).hexdigest()}"\n'
    )
    home = {"EDGESPEC_HOME": str(tmp_path), "SCRIPT_TEXT": ""}

    with terminal("-m", "tiny", program=("tests/cli/scripted_main.py",), **home) as chat:
        chat.until("READY")
        chat.type(b"\x11")

        assert chat.ended() == 0

    before = chat.written.partition(ALTERNATE_SCREEN_ON)[0]
    assert b"checking tiny.gguf" in before
    assert before.endswith(b"\r\x1b[K")


def test_sign_that_the_encoding_lacks_leaves_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "__stderr__", io.TextIOWrapper(written, encoding="ascii"))
    never_fail_to_encode()

    print("|日本|é|e\u0301|", file=sys.__stderr__, flush=True)

    assert written.getvalue() == b"|????|?|e|\n"
