"""`edgespec worker`: what it says, and how it ends. Its serving: tests/engine/rpc."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.main import cli
from edgespec.engine.children import environment
from edgespec.engine.rpc.endpoint import Endpoint
from edgespec.engine.rpc.greeting import greet
from tests.workers import MIB, has_rpc, needs_rpc, starting

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["worker", *arguments])


@contextmanager
def lending(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = (sys.executable, "-m", "edgespec", "worker", "--port", "0", "--threads", "1")
    process = subprocess.Popen(
        (*command, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(),
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@needs_rpc
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_worker_lends_what_it_says_until_a_signal_comes(number: int, code: int) -> None:
    with lending("--memory", "200M") as process:
        said = first_line(process)
        port = re.search(r"lending CPU with 200 MiB at 127\.0\.0\.1:(\d+); Ctrl-C ends it", said)
        assert port, said
        lent = greet(Endpoint("127.0.0.1", int(port[1])))

        process.send_signal(number)
        _, talk = process.communicate(timeout=30)

    assert [device.free_bytes for device in lent] == [200 * MIB]
    assert process.returncode == code
    assert talk.strip() == ""


@needs_rpc
def test_worker_warns_plainly_beyond_loopback() -> None:
    with lending("--memory", "200M", "--host", "0.0.0.0") as process:
        first_line(process)
        process.send_signal(signal.SIGINT)
        _, talk = process.communicate(timeout=30)

    assert "neither encrypted nor authenticated" in talk


@needs_rpc
def test_port_in_use_is_one_sentence_and_a_usage_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        result = run("--port", str(port), "--memory", "200M")

    assert result.exit_code == 2
    assert result.stderr.startswith(f"edgespec: port {port} is in use already")
    assert f"--port {port + 1}" in result.stderr


@pytest.mark.skipif(has_rpc(), reason="this llama.cpp was built with -DGGML_RPC=on")
def test_build_without_workers_is_one_sentence_with_the_command() -> None:
    result = run("--memory", "200M")

    assert result.exit_code == 1
    assert "built without its RPC backend" in result.stderr
    assert "CMAKE_ARGS=-DGGML_RPC=on" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--memory", "lots"), "'lots' is no amount of memory"),
        (("--device", "CUDA9", "--memory", "1G"), "there is no device 'CUDA9' here"),
        (("--port", "70000"), "70000 is not from 0 to 65,535"),
    ],
)
def test_worker_refuses_what_has_no_meaning(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert message in result.stderr


def test_doctor_tells_of_workers_that_cannot_be_had() -> None:
    result = CliRunner().invoke(cli, ["doctor", "--rpc", "127.0.0.1:1"])

    assert result.exit_code == 1
    assert re.search(r"! 127\.0\.0\.1:1 .*(no worker can be reached|built without)", result.output)


@needs_rpc
def test_doctor_takes_workers_in() -> None:
    with starting() as start:
        rpc = str(start(300 * MIB).endpoint)

        doctor = CliRunner().invoke(cli, ["doctor", "--rpc", rpc])

    assert re.search(rf"{rpc} +lends RPC\d+\n", doctor.output)
    assert re.search(rf"GPU +RPC\d+: a device of {rpc}, 300 MiB of 300 MiB free", doctor.output)
    assert "no GPU will be used" not in doctor.output


def test_help_says_that_the_protocol_is_open() -> None:
    assert "neither\n  encrypted nor authenticated" in run("--help").output
