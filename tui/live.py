"""What the last minute of decoding looked like: speeds for the small curve, a draft at rest."""

import time
from collections import deque
from collections.abc import Callable

from edgespec.events import Round

WINDOW_S = 60.0
REST_STEPS = 16
"""Steps without a draft after which it counts as resting."""


class Live:
    """Hears every round."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self.plain_steps = 0
        """Steps since the last draft."""

    def hear(self, event: Round) -> None:
        """One step ended."""
        now_s = self.clock()
        self._seen.append((now_s, len(event.step.tokens)))
        self.plain_steps = 0 if event.step.draft else self.plain_steps + 1
        while now_s - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()

    @property
    def is_resting(self) -> bool:
        """Whether a drafter has not proposed anything for a while."""
        return self.plain_steps >= REST_STEPS

    def speeds(self, n_bars: int) -> list[float]:
        """Tokens per second in equal parts of the last minute, oldest first."""
        now_s, counts = self.clock(), [0] * n_bars
        span_s = WINDOW_S / n_bars
        for at_s, n_tokens in self._seen:
            back = int((now_s - at_s) / span_s)
            if back < n_bars:
                counts[n_bars - 1 - back] += n_tokens
        return [count / span_s for count in counts]
