"""What a signal does to a wait, where its coming too early or too late would show."""

import signal
import time
from types import FrameType

from edgespec.cli.interrupts import unmissed


def test_signal_is_heard_once_however_late_its_handler_ends_the_wait() -> None:
    heard: list[int] = []

    def slow(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        time.sleep(0.3)  # a busy machine

    before = signal.signal(signal.SIGTERM, slow)
    try:
        with unmissed():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

    assert heard == [signal.SIGTERM]
