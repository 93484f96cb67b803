"""A server on a port of its own that plays a script: a peer of the benchmark."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Played:
    """What it was asked, and what it answers."""

    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Paths and bodies."""
    documents: dict[str, Any] = field(default_factory=dict)
    """What a path gives."""
    events: list[dict[str, Any]] = field(default_factory=list)
    """What every question is answered with."""
    status: int = 200
    is_in_lines: bool = False
    """One JSON object a line, in chunks, as Ollama; else server-sent events until the connection
    ends, as mlx-lm."""
    is_killed: bool = False
    """Ends in the middle of an answer."""
    url: str = ""

    @property
    def body(self) -> dict[str, Any]:
        """What it was asked last."""
        return self.asked[-1][1]

    def answer(self) -> bytes:
        """The script as it goes over the line."""
        told = [json.dumps(event) for event in self.events]
        if self.is_in_lines:
            chunks = [f"{len(line) + 1:x}\r\n{line}\n\r\n".encode() for line in told]
            return b"".join([*chunks, b"" if self.is_killed else b"0\r\n\r\n"])
        said = [f"data: {line}\n\n" for line in told]
        if not self.is_killed:
            said.append("data: [DONE]\n\n")
        return "".join([": keepalive 0/33\n\n", *said]).encode()


@contextmanager
def played_server() -> Iterator[Played]:
    """Serves until the end of the block."""
    played = Played(documents={"/v1/models": {"data": [{"id": "a-model"}]}})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = played.documents.get(self.path)
            told = found if isinstance(found, bytes) else json.dumps(found).encode()
            self._send(told, played.status if found is not None else 404)

        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            played.asked.append((self.path, json.loads(self.rfile.read(size))))
            self._send(played.answer(), played.status, is_chunked=played.is_in_lines)

        def _send(self, body: bytes, status: int, *, is_chunked: bool = False) -> None:
            self.protocol_version = "HTTP/1.1" if is_chunked else "HTTP/1.0"
            self.send_response(status)
            if is_chunked:
                self.send_header("Transfer-Encoding", "chunked")
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    played.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield played
    finally:
        server.shutdown()
        server.server_close()
