"""The Hugging Face client as the environment sets it up: mirror, offline mode, its own errors.

Asks nothing itself, and does not know what is fetched or listed with it.
"""

import os
import re
from urllib.parse import urlsplit

HUB = "https://huggingface.co"
_NUMBER = re.compile(r"^\[Errno -?\d+\] ")


def is_offline() -> bool:
    """Whether the environment forbids asking the network, in the hub's own way."""
    return os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in ("1", "ON", "YES", "TRUE")


def endpoint() -> str | None:
    """The mirror that the environment names."""
    return os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or None


def page_of(repo: str) -> str:
    """Where a person reads about a repository, and accepts its terms."""
    return f"{endpoint() or HUB}/{repo}"


def prepare() -> None:
    """To be called before the client is imported, which reads its settings then.

    Raises: `ValueError` for an endpoint that the client could not even be imported with.
    """
    base = endpoint() or HUB
    try:
        urlsplit(base).port  # noqa: B018 - it is the reading that fails
    except ValueError as error:
        raise ValueError(f"HF_ENDPOINT is {base!r}, which is no address: {error}") from error
    # Its warning about copies instead of links would go to a screen that is not its own.
    os.environ.setdefault("HF_HUB_DISABLE_SYMLINKS_WARNING", "1")


def connection_errors() -> tuple[type[Exception], ...]:
    """The exceptions of a call to the hub that are not our fault."""
    from huggingface_hub.errors import HfHubHTTPError

    # The base is httpx's own error, whichever httpx this hub is built on.
    http_errors = (base for base in HfHubHTTPError.__bases__ if issubclass(base, Exception))
    return (*http_errors, OSError)


def refusals() -> tuple[type[Exception], ...]:
    """The same, and what the client refuses before it asks: a name, or an environment.

    That is an `ImportError` for a SOCKS proxy without the package for it, and a `ValueError` for a
    proxy, a host or a token of letters that cannot be sent.
    """
    return (*connection_errors(), ImportError, ValueError)


def gist(error: Exception) -> str:
    """One of these exceptions in a clause."""
    # Told apart by name: which httpx the hub is built on differs with its version.
    name = type(error).__name__
    if name in ("ReadTimeout", "ConnectTimeout", "PoolTimeout"):
        return "nothing came in time"
    if name in ("RemoteProtocolError", "ReadError"):
        return "the connection broke off"
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object[error.start]!r} cannot be sent: look at HF_TOKEN and HF_ENDPOINT"
    lines = str(error).strip().splitlines() or [name]
    return _NUMBER.sub("", lines[0]).rstrip(".")


def gated(page: str) -> tuple[str, str]:
    """Why a gated repository gives nothing, and what to do."""
    from huggingface_hub import get_token

    if get_token() is None:
        return (
            f"the repository is gated, and no token is set: {page}",
            f"accept the terms on {page}, make a token (Settings, Access Tokens), and set "
            "HF_TOKEN to it",
        )
    return (
        f"the repository is gated, and the account of your token may not read it: {page}",
        f"accept the terms on {page} with that account; some pages grant it later",
    )
