"""Runs what blocks on a network in a thread of its own, so that the pull stays responsive.

A read that hangs cannot be interrupted from outside; the thread that hangs in one is left to its
timeout, and nothing that it brings later is used.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_POLL_S = 0.1
_AHEAD = 8
"""Items in flight: what a kill loses is at most these (64 KiB each from the network)."""


class Lost(Exception):
    """The network failed: `cause` is the client's own exception."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _End:
    """What comes after the last item."""


def pumped(make: Callable[[], Iterable[T]], idle: Callable[[], None]) -> Iterator[T]:
    """The items of `make()`, which runs in another thread; `idle` is called while none comes.

    An exception in `idle` passes through. Raises: `Lost` for an exception in `make()`.
    """
    items: queue.Queue[T | Lost | _End] = queue.Queue(_AHEAD)
    is_given_up = threading.Event()

    def put(item: T | Lost | _End) -> bool:
        while not is_given_up.is_set():
            try:
                items.put(item, timeout=_POLL_S)
            except queue.Full:
                continue
            return True
        return False

    def run() -> None:
        try:
            for item in make():
                if not put(item):
                    return
        except Exception as error:
            put(Lost(error))
        else:
            put(_End())

    threading.Thread(target=run, name="edgespec-hub", daemon=True).start()
    try:
        while True:
            try:
                item = items.get(timeout=_POLL_S)
            except queue.Empty:
                idle()
                continue
            if isinstance(item, Lost):
                raise item from item.cause
            if isinstance(item, _End):
                return
            yield item
    finally:
        is_given_up.set()
