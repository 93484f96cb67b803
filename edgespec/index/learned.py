"""Accepted answers as an index of their own: only where the user said so, and forgettable."""

from contextlib import suppress
from datetime import datetime

from edgespec.files import owned_folder
from edgespec.index.documents import Document
from edgespec.index.folders import index_dir
from edgespec.index.secrets import secret_in
from edgespec.index.store import Index, told

NAME = "learned"
_SWITCH = "learn-on"
_WAIT_S = 1.0
"""The next answer waits meanwhile."""
_LEAST_TOKENS = 16
"""A shorter answer is not worth a document."""


def is_learning() -> bool:
    """Whether answers are kept; off until somebody switches it on."""
    return (index_dir() / _SWITCH).exists()


def switch_learning(*, is_on: bool) -> None:
    """Keep answers from now on, or no more; what was learned stays. Raises: `IndexFault`."""
    with told(index_dir()):
        owned_folder(index_dir())
        if is_on:
            (index_dir() / _SWITCH).touch(mode=0o600)
        else:
            with suppress(FileNotFoundError):
                (index_dir() / _SWITCH).unlink()


def learn(text: str, ids: tuple[int, ...], fingerprint: str) -> bool:
    """Keep one answer, with the very tokens the model chose; the oldest make room.

    Returns: whether it was kept; one that is short, or seems to hold a secret, is not.
    Raises: `IndexFault`.
    """
    if len(ids) < _LEAST_TOKENS or secret_in(text) is not None:
        return False
    now = datetime.now().isoformat(timespec="microseconds")
    answer = Document(f"answer of {now}", text, ids, fingerprint)
    Index(NAME, wait_s=_WAIT_S).add([answer], drops_oldest=True)
    return True
