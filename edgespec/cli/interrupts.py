"""SIGINT, SIGTERM and a closed terminal: the first one asks for an end, the second one makes it."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_log = logging.getLogger(__name__)
_LATE_S = 0.05
"""So long a signal may take to end a wait before the wait is interrupted once more."""


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


@contextmanager
def unmissed() -> Iterator[None]:
    """Within the block, which waits for a person, no signal comes too early to end the wait.

    Python runs its handlers when a wait is interrupted. A signal between the prompt and the
    select() of readline would wait for the next key with it (CPython, Modules/readline.c,
    readline_until_enter_or_signal), so the wait is interrupted again until the block is left: by
    SIGURG, which means nothing here, since the handler of the first may have begun. Not on Windows,
    whose console does not wait like that, and not outside the main thread, which gets no signals.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    waiter, is_over = threading.get_ident(), threading.Event()
    told, tells = os.pipe()
    os.set_blocking(tells, False)

    def interrupt_again() -> None:
        while came := os.read(told, 1):
            while came[0] in (signal.SIGINT, *_ENDS) and not is_over.wait(_LATE_S):
                signal.pthread_kill(waiter, signal.SIGURG)

    watcher = threading.Thread(target=interrupt_again, name="edgespec-signals", daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(tells, warn_on_full_buffer=False)
    urgent = signal.signal(signal.SIGURG, lambda number, frame: None)
    try:
        yield
    finally:
        is_over.set()
        signal.signal(signal.SIGURG, urgent)
        signal.set_wakeup_fd(before)
        os.close(tells)
        watcher.join()
        os.close(told)


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
