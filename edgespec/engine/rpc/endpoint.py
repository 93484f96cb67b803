"""Where a worker is: `host:port`, read and written."""

from dataclasses import dataclass

from edgespec.errors import UsageError

DEFAULT_PORT = 50052
"""llama.cpp's own rpc-server listens there too."""
_MOST = 65535


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def address(self) -> tuple[str, int]:
        """As sockets take it."""
        return self.host, self.port


def endpoints_of(text: str) -> tuple[Endpoint, ...]:
    """The workers in "host:port,host:port"; without a port it is `DEFAULT_PORT`.

    Raises: `UsageError`, also for one that is named twice.
    """
    found = tuple(_endpoint(part.strip()) for part in text.split(",") if part.strip())
    if not found:
        raise UsageError("no worker is named", hint=f"--rpc 192.168.1.20:{DEFAULT_PORT}")
    for i, endpoint in enumerate(found):
        if endpoint in found[:i]:
            raise UsageError(f"the worker {endpoint} is named twice", hint="name it once")
    return found


def _endpoint(text: str) -> Endpoint:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(DEFAULT_PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= _MOST:
        raise UsageError(
            f"{text!r} is not a worker's address",
            hint=f"host:port, such as 192.168.1.20:{DEFAULT_PORT}",
        )
    return Endpoint(host, int(port))
