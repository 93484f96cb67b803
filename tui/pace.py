"""How often to draw: so that the screen never takes more than a small share of a core.

Where the cores also decode, what the screen takes is lost to the answer.
"""

from collections.abc import Callable

MIN_INTERVAL_S, MAX_INTERVAL_S = 1 / 12, 0.6
SHARE = 1 / 30
"""Of a core, at most: with two cores that decode, less than two percent of the answer."""
SWITCH_S = 1e-4
"""So long a drawing keeps the interpreter from a step that wants it: steps need it for
microseconds, a few times each, and at Python's own 5 ms those of a fast model would stand still
while the screen draws."""
_NEW = 0.3


class Pace:
    """Rests between drawings, long in proportion to what they cost."""

    def __init__(self, thread_time: Callable[[], float]) -> None:
        self._thread_time = thread_time
        self._since_s = thread_time()
        self._cost_s = 0.0
        """Lately, per drawing: the thread's whole time, as Textual lays out and paints later."""

    @property
    def rest_s(self) -> float:
        """How long to wait before the next one."""
        return min(MAX_INTERVAL_S, max(MIN_INTERVAL_S, self._cost_s / SHARE))

    def drawn(self) -> float:
        """Take note of one. Returns: its cost."""
        cost_s = self._thread_time() - self._since_s
        self._since_s += cost_s
        self._cost_s += _NEW * (cost_s - self._cost_s)
        return cost_s

    def woke(self) -> None:
        """What was spent while nothing was drawn does not count."""
        self._since_s = self._thread_time()
