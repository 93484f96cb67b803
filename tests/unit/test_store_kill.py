"""kill -9 at any byte of a download: what came is not fetched again, what is bad is not used."""

import dataclasses
import hashlib
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest

from edgespec import store
from edgespec.models.spec import HubSource, ModelSpec
from tests.hub import COMMIT, Fault, LocalHub, serving
from tests.unit.wheels import content

CHUNK_BYTES = 1 << 20
"""The most that a kill may lose: what is on its way, and what is read but not yet written."""
DATA = content(12_000_000)
SPEC = ModelSpec(
    "tiny",
    "Tiny",
    "tiny.gguf",
    "Q8_0",
    (HubSource("owner/tiny", "tiny.gguf", COMMIT),),
    size_bytes=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
)
PARTS = "models--owner--tiny/blobs/*.part"


class Nursery:
    """A process that has imported everything, and makes children that pull and can be killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self) -> int:
        """Begin a pull in a new process. Gives its id."""
        return int(self._tell("start"))

    def wait(self) -> int:
        """The exit status of the last one, negative for a signal."""
        return int(self._tell("wait"))

    def _tell(self, word: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


SCRIPT = """
    import os, sys
    import socket
    import filelock, huggingface_hub, huggingface_hub.file_download
    from edgespec import store
    from tests.unit.test_store_kill import SPEC, when_whole

    httpx = sys.modules[huggingface_hub.get_session().__class__.__module__.partition(".")[0]]
    huggingface_hub.close_session()
    # What the kernel received and nobody read is lost with a process. How much that is, is a matter
    # of the kernel and the line, so it is held small here: what edgespec holds back is counted.
    narrow = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)]
    huggingface_hub.set_client_factory(
        lambda: httpx.Client(transport=httpx.HTTPTransport(socket_options=narrow))
    )

    for line in sys.stdin:
        if line == "start\\n":
            pid = os.fork()
            if pid == 0:
                os._exit(0 if store.pull(SPEC, when_whole) else 1)
            print(pid, flush=True)
        else:
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    """


def when_whole(state: store.PullProgress) -> None:
    """Dies between the last byte and the file's name, if it was told to."""
    if state.done_bytes == state.total_bytes and os.environ.get("DIE_WHEN_WHOLE"):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    with serving() as server:
        server.files["owner/tiny", "tiny.gguf"] = DATA
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@contextmanager
def nursery() -> Iterator[Nursery]:
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        yield Nursery(process)


def test_fifty_kills_at_random_bytes_cost_at_most_a_chunk_each(
    hub: LocalHub, tmp_path: Path
) -> None:
    rng = random.Random(11)
    begins: list[int] = []
    ends: list[int] = []
    with nursery() as children:
        for at in sorted(rng.sample(range(1, len(DATA)), 50)):
            # Some at the very first bytes of an answer, some far into it.
            ends.append(_killed_after(at - (ends[-1] if ends else 0), children, hub))
            begins.append(_begin_of_last(hub))
        child = children.start()
        ended = children.wait()
    begins.append(_begin_of_last(hub))

    path = store.installed(SPEC)
    assert child
    assert ended == 0
    assert path is not None
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SPEC.sha256
    fetched_again = [end - begin for end, begin in zip(ends, begins[1:], strict=True)]
    assert min(fetched_again) >= 0
    assert max(fetched_again) <= CHUNK_BYTES
    assert list((tmp_path / "hub").glob(PARTS)) == []


def _killed_after(sent_bytes: int, children: Nursery, hub: LocalHub) -> int:
    """Kill a pull once the server has sent it so many bytes. Gives how far the file then was."""
    hub.sent_bytes = 0
    target: SimpleQueue[int] = SimpleQueue()

    def kill(total: int) -> None:
        if total >= sent_bytes:
            hub.on_sent = ignore
            os.kill(target.get(), signal.SIGKILL)  # it sends nothing more before it knows whom

    hub.on_sent = kill
    target.put(children.start())
    status = children.wait()
    hub.until_quiet()
    hub.on_sent = ignore
    assert status in (-signal.SIGKILL, 0), status
    return _begin_of_last(hub) + hub.sent_bytes


def ignore(total: int) -> None:
    """A piece that kills nobody."""


def _begin_of_last(hub: LocalHub) -> int:
    """Where in the file the last answer of the storage began."""
    wanted = hub.gets[-1].range
    return int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0


def test_kill_before_the_file_has_its_name_costs_nothing(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIE_WHEN_WHOLE", "1")
    with nursery() as children:
        children.start()
        status = children.wait()
    n_gets = len(hub.gets)

    path = store.pull(SPEC)

    assert status == -signal.SIGKILL
    assert path.read_bytes() == DATA
    assert len(hub.gets) == n_gets


def test_two_processes_that_pull_one_file_fetch_it_once(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub.faults.append(Fault(rate=12_000_000))
    homes = [tmp_path / "home of one", tmp_path / "home of another"]

    statuses = []
    with _nursery_in(homes[0], monkeypatch) as one, _nursery_in(homes[1], monkeypatch) as two:
        for children in (one, two):
            children.start()
        statuses = [children.wait() for children in (one, two)]

    path = store.installed(SPEC)
    assert statuses == [0, 0]
    assert path is not None
    assert path.read_bytes() == DATA
    assert hub.sent_bytes == len(DATA)


@contextmanager
def _nursery_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    monkeypatch.setenv("EDGESPEC_HOME", str(home))
    with nursery() as children:
        yield children


def test_a_dead_owners_lock_is_taken(hub: LocalHub) -> None:
    with nursery() as children:
        _killed_after(1_000_000, children, hub)

    assert store.pull(dataclasses.replace(SPEC)).read_bytes() == DATA
