"""What the controller is compared with: fixed lengths, and the heuristics of other engines.

Each is a `core.Controller`; none looks at costs, which is what is wrong with them.
"""

from collections.abc import Callable, Mapping

from edgespec.control.acceptance import Usual
from edgespec.control.auto import Auto
from edgespec.control.costs import LONGEST, Measured
from edgespec.control.fixed import Fixed
from edgespec.control.log import Log
from edgespec.core import Choice, Controller, Tokens
from edgespec.drafters import SUPERSEDES
from edgespec.drafters.lookahead import LookaheadDrafter
from edgespec.events import Step
from edgespec.replay.asked import paid_names
from edgespec.replay.play import Arms, Policy
from edgespec.replay.trace import Trace

LENGTHS = (1, 2, 3, 4, 5, 7, 11, 15, 23, 31, 47, 63)
MODEL_LENGTHS = (1, 2, 3, 4, 5, 7, 11, 15)


class Adaptive:
    """Hugging Face's schedule: two more after a draft that was all accepted, else one fewer.

    Source: transformers' generation/candidate_generator.py, "heuristic", starting from 5.
    """

    def __init__(self, drafter: str) -> None:
        self._drafter = drafter
        self._k = 5

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The present length."""
        return Choice(self._drafter, min(self._k, budget))

    def observe(self, step: Step) -> None:
        """Longer or shorter."""
        if step.drafted:
            is_full = step.accepted == step.drafted
            self._k = min(self._k + 2, LONGEST) if is_full else max(self._k - 1, 1)


class Averaged:
    """exllamav3's rule: a moving average of acceptance, up at 0.65 and more, off below 0.3.

    While off, two tokens are tried every 16 steps.
    """

    def __init__(self, drafter: str) -> None:
        self._drafter = drafter
        self._average = 0.65
        self._k = 4.0
        self._off = 0

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The present length, or a trial."""
        if self._average < 0.3:
            self._off += 1
            return Choice(self._drafter, min(2 if self._off % 16 == 0 else 0, budget))
        return Choice(self._drafter, min(round(self._k), budget))

    def observe(self, step: Step) -> None:
        """Follow the acceptance."""
        if step.drafted:
            share = step.accepted / step.drafted
            self._average += 0.2 * (share - self._average)
            grown = self._k * (1.3 if share >= 0.65 else 0.65)
            self._k = min(max(grown, 1.0), 16.0)


class Confident:
    """llama.cpp's p_min: the model drafts on while its best token is at least so likely."""

    def __init__(self, drafter: str, p_min: float, n_max: int) -> None:
        self._drafter, self._p_min, self._n_max = drafter, p_min, n_max

    def choose(self, context: Tokens, budget: int) -> Choice:
        """Up to `n_max` tokens, steered."""
        return Choice(self._drafter, min(self._n_max, budget), Threshold(self._p_min))

    def observe(self, step: Step) -> None:
        """Nothing to learn."""


class Threshold:
    """Steers on while the model is at least so sure."""

    def __init__(self, least: float) -> None:
        self._least = least

    def asks(self) -> bool:
        """Always."""
        return True

    def draws(self, confidence: float) -> bool:
        """As long as it is sure."""
        return confidence >= self._least

    def kept(self, n_drawn: int) -> int:
        """All."""
        return n_drawn


class ByMatch:
    """A rule by match length, set once: from which bucket on how many tokens are copied."""

    def __init__(self, arms: Arms, drafter: str, lengths: Mapping[int, int]) -> None:
        (self._free,) = (free for free in arms.free if free.name == drafter)
        self._lengths = lengths

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The length for the match."""
        buckets = self._free.at(len(context)).buckets
        k = self._lengths.get(buckets[0] % 4, 0) if buckets else 0
        return Choice(self._free.name, min(k, budget))

    def observe(self, step: Step) -> None:
        """Nothing to learn."""


def auto(arms: Arms, costs: Measured) -> Controller:
    """The controller, as a first answer after loading finds it: no earlier counts."""
    live = costs.live()
    superseded = {SUPERSEDES.get(arm.name) for arm in arms.paid}
    usual = {arm.name: Usual(arm.buckets) for arm in arms.free}
    usual |= {arm.name: Usual(arm.buckets) for arm in arms.paid}
    usual |= {arm.name: Usual(arm.buckets) for arm in arms.branching}
    paid = [arm for arm in arms.paid if arm.name not in superseded]
    # Of lookahead's pool the controller asks only what a window has found.
    free = [arm for arm in arms.free if arm.name != LookaheadDrafter.name]
    return Auto(free, paid, live, usual, Log("auto", None, live), branching=arms.branching)


def plain(arms: Arms, costs: Measured) -> Controller:
    """Never a draft."""
    return Fixed("none", 0)


def fixed(drafter: str, k: int) -> Policy:
    """Always k tokens."""
    return lambda arms, costs: Fixed(drafter, k)


_BY_MATCH = {1: 3, 2: 11, 3: 31}
"""Match 2, 4, 12 and more: 3, 11, 31 tokens, much as a first prototype did."""


def heuristics(trace: Trace) -> dict[str, Policy]:
    """By name, those that the trace's drafters allow."""
    found: dict[str, Policy] = {}
    for name in trace.free:
        found[f"{name} by match"] = _by_match(name)
    for name in (*trace.free, *trace.paid):
        found[f"{name} +2/-1"] = _made(Adaptive, name)
        found[f"{name} average"] = _made(Averaged, name)
    for name in trace.paid:
        for p_min, n_max in ((0.0, 3), (0.75, 16), (0.4, 16), (0.9, 8)):
            found[f"{name} p_min {p_min:g} of {n_max}"] = _confident(name, p_min, n_max)
    return found


def static(trace: Trace) -> dict[str, Policy]:
    """Every fixed length of every drafter, and none at all."""
    found: dict[str, Policy] = {"plain": plain}
    for name in trace.free:
        found.update({f"{name} {k}": fixed(name, k) for k in LENGTHS})
    for name in paid_names(trace):
        found.update({f"{name} {k}": fixed(name, k) for k in MODEL_LENGTHS})
    return found


def _made(rule: Callable[[str], Controller], drafter: str) -> Policy:
    return lambda arms, costs: rule(drafter)


def _by_match(drafter: str) -> Policy:
    return lambda arms, costs: ByMatch(arms, drafter, _BY_MATCH)


def _confident(drafter: str, p_min: float, n_max: int) -> Policy:
    return lambda arms, costs: Confident(drafter, p_min, n_max)
