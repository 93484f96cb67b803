"""SIGINT, SIGTERM and a closed terminal: the first one asks for an end, the second one makes it."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_log = logging.getLogger(__name__)


class Terminated(BaseException):
    """SIGTERM, raised in the main thread so that every `finally` runs."""


@dataclass(slots=True)
class Caught:
    """The signal that came, if one did."""

    number: int | None = None

    def raise_again(self) -> None:
        """Let the signal have its effect, now that what was under way has ended in order."""
        if self.number is not None:
            _raise(self.number, None)


def unwind_on_sigterm() -> None:
    """Turn SIGTERM, and a terminal that is closed, into `Terminated`, as Python turns SIGINT into
    `KeyboardInterrupt`."""
    for number in _ENDS:
        _set(number, _raise)


@contextmanager
def stopping(stop: Callable[[], object]) -> Iterator[Caught]:
    """Within the block the first signal only calls `stop`; the second is raised at once.

    `stop` gets a thread of its own: the signal may have hit the main thread inside a lock of the
    very stream that is to be stopped.
    """
    caught = Caught()

    def act(number: int, frame: FrameType | None) -> None:
        if caught.number is not None:
            _raise(number, frame)
        caught.number = number
        threading.Thread(target=stop, name="edgespec-stop", daemon=True).start()

    before = {number: _set(number, act) for number in (signal.SIGINT, *_ENDS)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            _set(number, handler)


def _ends() -> tuple[signal.Signals, ...]:
    """Windows has no SIGHUP; `nohup` wants it ignored."""
    hangup: signal.Signals | None = getattr(signal, "SIGHUP", None)
    if hangup is None or signal.getsignal(hangup) == signal.SIG_IGN:
        return (signal.SIGTERM,)
    return signal.SIGTERM, hangup


_ENDS = _ends()
_Handler = Callable[[int, FrameType | None], object] | int | None


def _raise(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def _set(number: signal.Signals, handler: _Handler) -> _Handler:
    try:
        return signal.signal(number, handler)
    except ValueError:
        # Not the main thread: whoever runs us there owns the signals.
        _log.debug("signal %s is left as it is", number.name)
        return None
