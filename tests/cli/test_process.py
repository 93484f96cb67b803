"""What only a real process shows: signals, closed pipes, encodings, closed streams."""

import os
import subprocess
from pathlib import Path

import pytest

from edgespec.history.library import Library
from tests.cli.processes import COMMAND, HOSTILE, environment


def test_closed_pipe_ends_quietly(gguf: str) -> None:
    text = "word\n" * 20_000
    shell = f"{' '.join(COMMAND)} -m {gguf} -p Hi </dev/null | head -1; echo ${{PIPESTATUS[0]}}"

    ended = subprocess.run(
        ["bash", "-c", shell], env=environment(SCRIPT_TEXT=text), capture_output=True, text=True
    )

    assert (ended.stdout, ended.stderr) == ("word\n0\n", "")


@pytest.mark.parametrize("arguments", ["--help", "--version", "chat --help", "models"])
def test_whatever_is_printed_ends_quietly_when_its_reader_has_gone(arguments: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    ended = subprocess.run(
        [*COMMAND, *arguments.split()], env=environment(), stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)

    assert (ended.returncode, ended.stderr) == (0, b"")


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
