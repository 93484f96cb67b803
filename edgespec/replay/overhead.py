"""What the controller itself costs per step: its choice and its learning, on a processor's clock.

The drafters are played from a trace, so nothing of theirs is in it; nor is a draft model's
steering.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median, quantiles
from time import perf_counter
from typing import NamedTuple

from edgespec.control.costs import Measured
from edgespec.core import Choice, Controller, Tokens
from edgespec.events import Step
from edgespec.replay.play import Policy, play
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


def overheads(
    traces: Sequence[Trace],
    curves: Mapping[str, Measured],
    n_rounds: int = 5,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, Overhead]:
    """By curve, over all steps of all traces. Curves take turns, so that other work on the machine
    holds up all alike."""
    took_s: dict[str, list[float]] = {name: [] for name in curves}

    def timed(name: str) -> Policy:
        return lambda arms, costs: _Timed(auto(arms, costs), took_s[name], clock)

    for _ in range(n_rounds):
        for trace in traces:
            for name, costs in curves.items():
                play(trace, timed(name), costs)
    return {
        name: Overhead(median(took), quantiles(took, n=20)[-1], len(took))
        for name, took in took_s.items()
    }


def lines(found: Mapping[str, Overhead]) -> Iterator[str]:
    """A sentence, and a line for each curve."""
    n_steps = sum(one.n_steps for one in found.values())
    yield f"the controller itself takes, in microseconds per step, over {n_steps:,} steps"
    width = max(map(len, found))
    yield f"{'':<{width}}  {'median':>6}  {'95 %':>6}"
    for name, one in found.items():
        yield f"{name:<{width}}  {one.median_s * 1e6:6.0f}  {one.most_s * 1e6:6.0f}"
