"""A server on this machine that behaves like the Hugging Face hub, and misbehaves when told to.

As there: the hub answers a HEAD itself and leads a GET on to a storage on another host; the ETag
of a large file is its sha256; ranges work. Everything sent is counted.
"""

import hashlib
import json
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

COMMIT = "c" * 40
_PIECE_BYTES = 16 << 10


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one answer of the storage, or of the hub for `status`."""

    status: int = 0
    """Answer with this instead of the file."""
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """Break the connection after so many bytes of the body."""
    is_silent: bool = False
    """After `cut_after` bytes, keep the connection open and send nothing."""
    is_short: bool = False
    """End the body after `cut_after` bytes as if it were complete (no length is told)."""
    ignores_range: bool = False
    lies_about_range: bool = False
    flips: bool = False
    """Send other bytes."""
    extra: int = 0
    """Send so many bytes too much."""
    at_hub: bool = False
    """Concerns the hub's own answers, HEAD and GET, not the storage's."""
    rate: int | None = None
    """Bytes per second."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    host: str
    path: str
    range: str
    has_token: bool


class LocalHub:
    """Serves `files` by repository and name; `faults` are used up one per answer."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], bytes] = {}
        self.commit = COMMIT
        self.faults: deque[Fault] = deque()
        self.asked: list[Asked] = []
        self.sent_bytes = 0
        self.on_sent: Callable[[int], None] = lambda total: None
        """Called with the total after each piece; runs in the server's thread."""
        self.wanted_token = ""
        self.is_closing = threading.Event()
        self._lock = threading.Lock()
        self._pouring = threading.Condition()
        self._n_pouring = 0
        self.hub = _Server(self, is_storage=False)
        self.storage = _Server(self, is_storage=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.hub.server_port}"

    @property
    def gets(self) -> list[Asked]:
        """Requests that reached the storage."""
        storage = str(self.storage.server_port)
        return [one for one in self.asked if one.method == "GET" and one.host.endswith(storage)]

    def until_quiet(self) -> None:
        """Wait until no file is being sent: to a client that was killed, for a moment still."""
        with self._pouring:
            assert self._pouring.wait_for(lambda: self._n_pouring == 0, 30)

    @contextmanager
    def pouring(self) -> Iterator[None]:
        """A file is being sent."""
        with self._pouring:
            self._n_pouring += 1
        try:
            yield
        finally:
            with self._pouring:
                self._n_pouring -= 1
                self._pouring.notify_all()

    def next_fault(self, *, at_hub: bool) -> Fault:
        with self._lock:
            if self.faults and self.faults[0].at_hub == at_hub:
                return self.faults.popleft()
        return Fault()

    def count(self, n: int) -> None:
        with self._lock:
            self.sent_bytes += n
            total = self.sent_bytes
        self.on_sent(total)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, owner: LocalHub, *, is_storage: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.owner = owner
        self.is_storage = is_storage

    def handle_error(self, request: Any, client_address: Any) -> None:
        return  # a client that was killed


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        # Little is on its way when a client dies, so that counts mean something.
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PIECE_BYTES)
        super().setup()

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        return

    def _answer(self) -> None:
        owner = self.server.owner
        if self.path == "/api/agent-harnesses":  # the client asks it once per process, of itself
            self._say(404, {}, b"{}")
            return
        owner.asked.append(
            Asked(
                self.command,
                self.headers.get("Host", ""),
                self.path,
                self.headers.get("Range", ""),
                "authorization" in self.headers,
            )
        )
        fault = owner.next_fault(at_hub=not self.server.is_storage)
        path = urlsplit(self.path).path  # a proxy is asked with the whole address
        if fault.status:
            self._say(fault.status, fault.headers, b"{}")
        elif self.server.is_storage:
            self._send(path, fault)
        else:
            self._resolve(path)

    def _resolve(self, path: str) -> None:
        """The hub: what the file is, and where its bytes are."""
        owner = self.server.owner
        is_listing = path.startswith("/api/models/")
        match = re.fullmatch(
            r"/([^/]+/[^/]+)/(?:resolve|revision)/([^/]+)/?(.*)", path.removeprefix("/api/models")
        )
        repo = match[1] if match else ""
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        if owner.wanted_token and token != owner.wanted_token:
            status = 403 if token else 401
            self._say(status, {"X-Error-Code": "GatedRepo"}, b"{}")
        elif match is None or not any(repo == known for known, _ in owner.files):
            self._say(401 if not token else 404, {"X-Error-Code": "RepoNotFound"}, b"{}")
        elif match[2] not in ("main", owner.commit):
            self._say(404, {"X-Error-Code": "RevisionNotFound"}, b"{}")
        elif is_listing:
            self._say(200, {"Content-Type": "application/json"}, self._listed(repo))
        elif (repo, match[3]) not in owner.files:
            self._say(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": owner.commit}, b"{}")
        else:
            data = owner.files[repo, match[3]]
            place = f"http://localhost:{owner.storage.server_port}/blobs/{repo}/{match[3]}"
            headers = {
                "X-Repo-Commit": owner.commit,
                "X-Linked-ETag": f'"{hashlib.sha256(data).hexdigest()}"',
                "X-Linked-Size": str(len(data)),
                "ETag": '"of-the-redirect"',
                "Location": f"{place}?signed=1",
            }
            self._say(302, headers, b"")

    def _listed(self, repo: str) -> bytes:
        """The hub: which files a repository holds."""
        owner = self.server.owner
        files = []
        for (_, name), data in filter(lambda item: item[0][0] == repo, owner.files.items()):
            lfs = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 1}
            files.append({"rfilename": name, "size": len(data), "blobId": "b", "lfs": lfs})
        return json.dumps({"id": repo, "sha": owner.commit, "siblings": files}).encode()

    def _send(self, path: str, fault: Fault) -> None:
        """The storage: the bytes, or part of them."""
        repo, _, name = path.removeprefix("/blobs/").rpartition("/")
        data = self.server.owner.files[repo, name]
        if fault.flips:
            data = bytes(len(data))
        first, status = 0, 200
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if match and not fault.ignores_range:
            first, status = int(match[1]), 206
            if first >= len(data):
                self._say(416, {"Content-Range": f"bytes */{len(data)}"}, b"")
                return
        last = int(match[2]) if match and match[2] and status == 206 else len(data) - 1
        body = data[first : last + 1] + bytes(fault.extra)
        said = 0 if fault.lies_about_range else first
        self.send_response(status)
        if status == 206:
            end = min(last, len(data) - 1)
            self.send_header("Content-Range", f"bytes {said}-{end}/{len(data)}")
        if fault.is_short or fault.extra:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"of-the-storage"')
        self.end_headers()
        if self.command == "GET":
            with self.server.owner.pouring():
                self._pour(body, fault)

    def _pour(self, body: bytes, fault: Fault) -> None:
        end = len(body) if fault.cut_after is None else fault.cut_after
        for at in range(0, min(end, len(body)), _PIECE_BYTES):
            piece = body[at : min(at + _PIECE_BYTES, end)]
            self.wfile.write(piece)
            self.server.owner.count(len(piece))
            if fault.rate:
                time.sleep(len(piece) / fault.rate)
        if fault.is_silent:
            self.server.owner.is_closing.wait(30)
        if fault.cut_after is not None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def _say(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@contextmanager
def serving() -> Iterator[LocalHub]:
    """A hub that answers until the end of the block."""
    owner = LocalHub()
    threads = [
        threading.Thread(target=server.serve_forever, args=(0.02,))
        for server in (owner.hub, owner.storage)
    ]
    for thread in threads:
        thread.start()
    try:
        yield owner
    finally:
        owner.is_closing.set()
        for server in (owner.hub, owner.storage):
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()
