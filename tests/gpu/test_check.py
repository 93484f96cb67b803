"""The script for a machine with a GPU, where there is none: it says so and fails nothing, and takes
workers for GPUs."""

import subprocess
import sys
from pathlib import Path

import pytest

from edgespec.engine.children import environment
from edgespec.engine.devices import own_gpus
from tests import tinygguf
from tests.workers import MIB, needs_rpc, starting

CHECK = Path(__file__).with_name("check")
UNTIMED = (
    "The plan against",
    "Layers on the CPU",
    "The target over several GPUs",
    "Target and draft model",
    "The curve",
)
"""The checks whose verdict is not a matter of speed."""


@pytest.mark.skipif(bool(own_gpus()), reason="there is a GPU: run tests/gpu/check itself")
def test_check_says_why_it_shows_nothing_without_a_gpu() -> None:
    command = (sys.executable, str(CHECK))
    child = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)

    assert child.returncode == 0, child.stderr
    assert "skipped: this llama.cpp sees no GPU" in child.stdout
    assert "CPU CPU" in child.stdout


@needs_rpc
def test_check_holds_on_two_workers_in_place_of_gpus(tmp_path: Path) -> None:
    target = tinygguf.write_llama(tmp_path / "target.gguf", n_ctx=2048)
    draft = tinygguf.write_llama(tmp_path / "draft.gguf", n_ctx=2048, noise=0.05)

    with starting() as start:
        workers = ",".join(str(start(size * MIB).endpoint) for size in (200, 400))
        command = (sys.executable, str(CHECK), "-m", str(target), "-d", str(draft))
        child = subprocess.run(
            (*command, "--rpc", workers),
            capture_output=True,
            text=True,
            env=environment(),
            check=False,
        )

    verdicts = [line for line in child.stdout.splitlines() if not line.startswith(" ")]
    for name in UNTIMED:
        assert any(line.startswith(f"ok      {name}") for line in verdicts), child.stdout
