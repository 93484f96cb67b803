"""What the controller itself costs per step: its choice and its learning, on a processor's clock.

The drafters are played from a trace, so nothing of theirs is in it.
"""

from collections.abc import Callable, Sequence
from statistics import median, quantiles
from time import perf_counter
from typing import NamedTuple

from edgespec.control.costs import Measured
from edgespec.core import Choice, Controller, Tokens
from edgespec.events import Step
from edgespec.replay.play import Arms, play
from edgespec.replay.policies import auto
from edgespec.replay.trace import Trace


class Overhead(NamedTuple):
    """Seconds per step."""

    median_s: float
    most_s: float
    """95 of 100 steps take less."""
    n_steps: int


class _Timed:
    """A controller, with a clock around it."""

    def __init__(self, inner: Controller, took_s: list[float], clock: Callable[[], float]) -> None:
        self._inner, self._took_s, self._clock = inner, took_s, clock

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The inner one's choice."""
        began_s = self._clock()
        choice = self._inner.choose(context, budget)
        self._took_s.append(self._clock() - began_s)
        return choice

    def observe(self, step: Step) -> None:
        """Belongs to the same step."""
        began_s = self._clock()
        self._inner.observe(step)
        self._took_s[-1] += self._clock() - began_s


def overhead(
    traces: Sequence[Trace],
    costs: Measured,
    n_rounds: int = 5,
    clock: Callable[[], float] = perf_counter,
) -> Overhead:
    """Over all steps of all traces; a draft model's steering is not in it."""
    took_s: list[float] = []

    def timed(arms: Arms, costs: Measured) -> Controller:
        return _Timed(auto(arms, costs), took_s, clock)

    for _ in range(n_rounds):
        for trace in traces:
            play(trace, timed, costs)
    return Overhead(median(took_s), quantiles(took_s, n=20)[-1], len(took_s))
