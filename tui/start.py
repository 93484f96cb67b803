"""The start of a process whose first frame a person waits for: nothing is collected before it.

What an import makes stays, so looking for garbage among it finds none: a sixth of all CPU until
the first paint.
"""

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hurried() -> Iterator[None]:
    """No collection until `settle` or the end."""
    gc.disable()
    try:
        _import_asyncio_alone()
        yield
    finally:
        gc.unfreeze()
        gc.enable()


def _import_asyncio_alone() -> None:
    """Without TLS, which nothing here asks of it: a fiftieth of all CPU until the first paint.

    A Python that was built without `ssl` has the same asyncio. What downloads imports it later.
    """
    if "ssl" in sys.modules or "asyncio" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("asyncio")
    finally:
        del sys.modules["ssl"]


def prepare() -> None:
    """Behind the first frame, in a thread: what the first message and the first F2 need; and what
    an editor of a killed process holds goes, where it must not come back."""
    for name in (".turn", ".markdown", ".colours", ".models"):
        importlib.import_module(name, __package__)
    importlib.import_module("edgespec.chat.commands")
    from .editor import forget_left

    forget_left()


def settle() -> None:
    """From now on what is new is collected.

    What is here already is left out for good: a full collection walks through all it knows, in
    the midst of an answer.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
