"""What decoding looked like of late: speeds for the small curve, a draft at rest and why."""

import time
from collections import deque
from collections.abc import Callable

from edgespec.events import Round

WINDOW_S = 60.0
REST_STEPS = 16
"""Steps without a draft after which it counts as resting."""
LAST_DRAFTS, LEAST_DRAFTS = 16, 4
"""Steps with a draft that say how fast drafting was; fewer than the least say nothing."""


class Live:
    """Hears every round."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self.plain_steps = 0
        """Steps since the last draft."""
        self.plain_seen = 0
        """Steps without a draft since the model was loaded."""
        self._drafts: deque[tuple[int, float]] = deque(maxlen=LAST_DRAFTS)

    def begin(self) -> None:
        """Another model: what the one before took says nothing of it."""
        self.plain_steps = self.plain_seen = 0
        self._drafts.clear()

    def hear(self, event: Round) -> None:
        """One step ended."""
        now_s, step = self.clock(), event.step
        self._seen.append((now_s, len(step.tokens)))
        if step.draft:
            self.plain_steps = 0
            self._drafts.append((len(step.tokens), step.step_s))
        else:
            self.plain_steps += 1
            self.plain_seen += 1
        while now_s - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()

    @property
    def is_resting(self) -> bool:
        """Whether a drafter has not proposed anything for a while."""
        return self.plain_steps >= REST_STEPS

    @property
    def drafts_tokens_per_s(self) -> float | None:
        """How fast the last steps with a draft were; None where they are too few."""
        took_s = sum(step_s for _, step_s in self._drafts)
        if len(self._drafts) < LEAST_DRAFTS or not took_s:
            return None
        return sum(n for n, _ in self._drafts) / took_s

    def speeds(self, n_bars: int) -> list[float]:
        """Tokens per second in equal parts of the last minute, oldest first."""
        now_s, counts = self.clock(), [0] * n_bars
        span_s = WINDOW_S / n_bars
        for at_s, n_tokens in self._seen:
            back = int((now_s - at_s) / span_s)
            if back < n_bars:
                counts[n_bars - 1 - back] += n_tokens
        return [count / span_s for count in counts]
