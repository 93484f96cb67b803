"""What a step costs beside its passes: measured on a short answer of the loaded model."""

from collections.abc import Callable
from itertools import pairwise
from statistics import median
from time import perf_counter

from edgespec.api.types import LanguageModel, Message, Options
from edgespec.bench.engine import PLAIN
from edgespec.events import Round

_N_TOKENS = 16
_ASKED = (Message(role="user", content="Count from one to a hundred, in words."),)


def host_s(model: LanguageModel, clock: Callable[[], float] = perf_counter) -> float:
    """Median seconds of a plain step that the target's pass does not take; 0 where nothing can be
    told from the answer."""
    at: list[tuple[float, float]] = []
    with model.chat(_ASKED, Options(max_tokens=_N_TOKENS, drafter=PLAIN)) as stream:
        for event in stream:
            if isinstance(event, Round):
                at.append((clock(), event.step.target_s))
    beside = [now_s - before_s - target_s for (before_s, _), (now_s, target_s) in pairwise(at)]
    return max(0.0, median(beside)) if beside else 0.0
