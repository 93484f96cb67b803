"""The script for a machine with a GPU, where there is none: it says so and fails nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from edgespec.engine.children import environment
from edgespec.engine.devices import own_gpus

CHECK = Path(__file__).with_name("check")


@pytest.mark.skipif(bool(own_gpus()), reason="there is a GPU: run tests/gpu/check itself")
def test_check_says_why_it_shows_nothing_without_a_gpu() -> None:
    command = (sys.executable, str(CHECK))
    child = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)

    assert child.returncode == 0, child.stderr
    assert "skipped: this llama.cpp sees no GPU" in child.stdout
    assert "CPU CPU" in child.stdout
