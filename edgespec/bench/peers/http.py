"""Streamed requests to a local server: JSON in, server-sent events or JSON lines out."""

import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from edgespec.bench.engine import EngineFailed

_TIMEOUT_S = 600.0
_REACH_S = 10.0
"""mlx-lm looks through all of the hub's cache before it lists its models."""
_MOST_AT_ONCE = 2**16
_MOST_TOLD = 300
"""Characters of what a server says is wrong."""


class Server:
    """Where a server listens. Every request has a connection of its own."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.url = url
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._base = parts.path.rstrip("/")

    def get(self, path: str, timeout_s: float = _TIMEOUT_S) -> Any:
        """A JSON document. Raises: `EngineFailed`."""
        connection = self._connection(timeout_s)
        try:
            connection.request("GET", self._base + path)
            return json.loads(self._checked(connection.getresponse()).read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._failed(error) from error
        finally:
            connection.close()

    def reached(self, path: str, start: str) -> Any:
        """The same of a server that may not run. Raises: `EngineFailed`, with how to `start` it
        only where nothing answers: one that refuses, or answers with something else, is there."""
        try:
            return self.get(path, _REACH_S)
        except EngineFailed as failure:
            why = failure.__cause__
            if not isinstance(why, OSError) or isinstance(why, http.client.HTTPException):
                raise
            hint = f"{start}, then --peer {self.name}=MODEL"
            raise EngineFailed(f"nothing answers at {self.url}", hint=hint) from why

    def is_there(self, path: str) -> bool:
        """Whether something answers `path` with success, now."""
        try:
            self.get(path, timeout_s=2.0)
        except EngineFailed:
            return False
        return True

    def events(self, path: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The server-sent events of a streamed answer, as they arrive. Raises: `EngineFailed`."""
        for line in self._streamed(path, body):
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                return
            yield self._read(data)

    def lines(self, path: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The same of a server that writes one JSON object a line. Raises: `EngineFailed`."""
        for line in self._streamed(path, body):
            if line.strip():
                yield self._read(line)

    def _streamed(self, path: str, body: Mapping[str, Any]) -> Iterator[bytes]:
        connection = self._connection(_TIMEOUT_S)
        try:
            connection.request(
                "POST",
                self._base + path,
                json.dumps({**body, "stream": True}).encode(),
                {"Content-Type": "application/json"},
            )
            response = self._checked(connection.getresponse())
            yield from _lines(response)
        except (OSError, http.client.HTTPException) as error:
            raise self._failed(error) from error
        finally:
            connection.close()

    def _read(self, data: bytes) -> dict[str, Any]:
        """One object. Raises: `EngineFailed` when it is none, or tells of an error."""
        try:
            found: dict[str, Any] = json.loads(data)
        except ValueError as error:
            raise self._failed(error) from error
        if error_told := found.get("error"):
            raise EngineFailed(f"{self.name} broke off: {str(error_told)[:_MOST_TOLD]}")
        return found

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)

    def _checked(self, response: http.client.HTTPResponse) -> http.client.HTTPResponse:
        if response.status != 200:
            said = response.read(_MOST_TOLD).decode("utf-8", "replace")
            raise EngineFailed(f"{self.name} answered with status {response.status}: {said}")
        return response

    def _failed(self, error: Exception) -> EngineFailed:
        return EngineFailed(f"{self.name} broke off: {type(error).__name__}: {error}")


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The lines of an answer as they arrive. Raises: `http.client.IncompleteRead`.

    Not by `readline`: it takes a connection that is cut between two chunks for the answer's end.
    """
    rest = b""
    while data := response.read1(_MOST_AT_ONCE):
        *whole, rest = (rest + data).split(b"\n")
        yield from whole
    if rest:
        yield rest
