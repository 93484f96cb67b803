"""Policies side by side on the traces of a recording."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from edgespec.control.costs import Measured
from edgespec.replay.oracle import best_s
from edgespec.replay.play import Policy, play, total_s
from edgespec.replay.policies import auto, heuristics, plain, static
from edgespec.replay.trace import Trace

CLAIRVOYANT, BEST_STATIC, AUTO = "clairvoyant", "best fixed per prompt", "auto"


@dataclass(frozen=True, slots=True)
class Result:
    """Speeds on some traces, times plain decoding."""

    traces: tuple[str, ...]
    ratios: dict[str, tuple[float, ...]]
    """By policy, in the order of `traces`."""

    def mean(self, policy: str) -> float:
        """Geometric mean over the traces."""
        return geometric_mean(self.ratios[policy])

    @property
    def of_clairvoyant(self) -> float:
        """The controller's share of what a clairvoyant reaches, in the geometric mean."""
        return self.mean(AUTO) / self.mean(CLAIRVOYANT)

    @property
    def of_best_static(self) -> float:
        """The controller's share of the best fixed rule, chosen with hindsight per prompt."""
        return self.mean(AUTO) / self.mean(BEST_STATIC)

    @property
    def rivals(self) -> tuple[str, ...]:
        """The policies that need no hindsight, the best first, the controller aside."""
        others = [name for name in self.ratios if name not in (AUTO, CLAIRVOYANT, BEST_STATIC)]
        return tuple(sorted(others, key=self.mean, reverse=True))


def compare(
    traces: Sequence[Trace], costs: Measured, tell: Callable[[str], None] = lambda _: None
) -> Result:
    """Every policy on every trace, with these costs."""
    by_trace = []
    for trace in traces:
        tell(f"replaying {trace.name}")
        plain_s = total_s(play(trace, plain, costs))
        took = {name: total_s(play(trace, p, costs)) for name, p in _policies(trace)}
        by_trace.append({name: plain_s / seconds for name, seconds in took.items()})
        fixed = [by_trace[-1][name] for name in (*static(trace), *heuristics(trace))]
        by_trace[-1][BEST_STATIC] = max(fixed)
        by_trace[-1][CLAIRVOYANT] = plain_s / best_s(trace, costs)
    common = [name for name in by_trace[0] if all(name in found for found in by_trace)]
    ratios = {name: tuple(found[name] for found in by_trace) for name in common}
    return Result(tuple(trace.name for trace in traces), ratios)


def _policies(trace: Trace) -> Iterator[tuple[str, Policy]]:
    yield AUTO, auto
    yield from static(trace).items()
    yield from heuristics(trace).items()


def lines(result: Result, n_rivals: int = 6) -> Iterator[str]:
    """The comparison as a table: what knows the future, the controller, the best of the others."""
    shown = (CLAIRVOYANT, BEST_STATIC, AUTO, *result.rivals[:n_rivals])
    width = max(len(name) for name in result.traces)
    for i, name in enumerate(shown):
        yield f"{chr(ord('a') + i)}  {name}"
    yield ""
    yield f"{'times plain':<{width}}  " + "  ".join(f"{chr(97 + i):>5}" for i in range(len(shown)))
    for at, trace in enumerate(result.traces):
        figures = "  ".join(f"{result.ratios[name][at]:5.2f}" for name in shown)
        yield f"{trace:<{width}}  {figures}"
    means = "  ".join(f"{result.mean(name):5.2f}" for name in shown)
    yield f"{'geometric mean':<{width}}  {means}"
    yield ""
    yield (
        f"auto reaches {result.of_clairvoyant:.1%} of the clairvoyant and "
        f"{result.of_best_static:.1%} of the best fixed rule chosen with hindsight per prompt"
    )
