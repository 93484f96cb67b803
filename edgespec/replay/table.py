"""Policies side by side on the traces of a recording."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from textwrap import wrap

from edgespec.control.costs import Measured
from edgespec.replay.odds import odds_of, odds_s
from edgespec.replay.oracle import best_s
from edgespec.replay.play import Policy, play, total_s
from edgespec.replay.policies import auto, heuristics, plain, static
from edgespec.replay.trace import Trace

CLAIRVOYANT, ODDS = "clairvoyant", "knows the odds"
BEST_STATIC, AUTO = "best fixed per prompt", "auto"
_WIDTH = 100
_FIXED_SPACE = "\xa0"
_NO_RIVALS = (CLAIRVOYANT, ODDS, BEST_STATIC, AUTO)


@dataclass(frozen=True, slots=True)
class Result:
    """Speeds on some traces, times plain decoding."""

    traces: tuple[str, ...]
    ratios: dict[str, tuple[float, ...]]
    """By policy, in the order of `traces`."""
    temperatures: tuple[float, ...]
    """Of the traces, in their order."""

    def at(self, temperature: float) -> "Result":
        """Of the traces at this temperature."""
        kept = [i for i, t in enumerate(self.temperatures) if t == temperature]
        ratios = {name: tuple(found[i] for i in kept) for name, found in self.ratios.items()}
        names = tuple(self.traces[i] for i in kept)
        return Result(names, ratios, (temperature,) * len(kept))

    def mean(self, policy: str) -> float:
        """Geometric mean over the traces."""
        return geometric_mean(self.ratios[policy])

    @property
    def of_clairvoyant(self) -> float:
        """The controller's share of what a clairvoyant reaches, in the geometric mean."""
        return self.mean(AUTO) / self.mean(CLAIRVOYANT)

    @property
    def of_odds(self) -> float:
        """The controller's share of what one who knows all odds and no outcome reaches."""
        return self.mean(AUTO) / self.mean(ODDS)

    @property
    def of_best_static(self) -> float:
        """The controller's share of the best fixed rule, chosen with hindsight per prompt."""
        return self.mean(AUTO) / self.mean(BEST_STATIC)

    @property
    def rivals(self) -> tuple[str, ...]:
        """The policies that need no hindsight, the best first, the controller aside."""
        others = [name for name in self.ratios if name not in _NO_RIVALS]
        return tuple(sorted(others, key=self.mean, reverse=True))


def compare(
    traces: Sequence[Trace], costs: Measured, tell: Callable[[str], None] = lambda _: None
) -> Result:
    """Every policy on every trace, with these costs."""
    by_trace, odds = [], odds_of(traces)
    for trace in traces:
        tell(f"replaying {trace.name}")
        plain_s = total_s(play(trace, plain, costs))
        took = {name: total_s(play(trace, p, costs)) for name, p in _policies(trace)}
        by_trace.append({name: plain_s / seconds for name, seconds in took.items()})
        fixed = [by_trace[-1][name] for name in (*static(trace), *heuristics(trace))]
        by_trace[-1][BEST_STATIC] = max(fixed)
        by_trace[-1][CLAIRVOYANT] = plain_s / best_s(trace, costs)
        by_trace[-1][ODDS] = plain_s / odds_s(trace, costs, odds)
    common = [name for name in by_trace[0] if all(name in found for found in by_trace)]
    ratios = {name: tuple(found[name] for found in by_trace) for name in common}
    names, temperatures = zip(*((t.name, t.temperature) for t in traces), strict=True)
    return Result(names, ratios, temperatures)


def _policies(trace: Trace) -> Iterator[tuple[str, Policy]]:
    yield AUTO, auto
    yield from static(trace).items()
    yield from heuristics(trace).items()


def lines(result: Result, n_rivals: int = 6) -> Iterator[str]:
    """The comparison as a table: what knows the future, the controller, the best of the others."""
    shown = (*_NO_RIVALS, *result.rivals[:n_rivals])
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
    others = (f"{name} {result.mean(name):.2f}" for name in result.rivals[n_rivals:])
    named = ", ".join(other.replace(" ", _FIXED_SPACE) for other in others)
    for line in wrap(f"means of all others: {named}", _WIDTH):
        yield line.replace(_FIXED_SPACE, " ")
    yield ""
    yield (
        f"auto reaches {result.of_clairvoyant:.1%} of the clairvoyant, and "
        f"{result.of_best_static:.1%} of the best fixed rule chosen with hindsight per prompt;"
    )
    yield (
        f"and {result.of_odds:.1%} of who knows how often tokens of each kind come true, but not "
        "which"
    )


def lines_by_curve(results: Mapping[str, Result]) -> Iterator[str]:
    """The same answers by several curves: a line for each, in the columns of `lines`."""
    width = max(map(len, results))
    letters = "  ".join(f"{letter:>5}" for letter in ("a", "b", "c", "d", "d/a", "d/b", "d/c"))
    yield f"{'':<{width}}  {letters}  best of the others"
    for name, result in results.items():
        means = "  ".join(f"{result.mean(policy):5.2f}" for policy in _NO_RIVALS)
        found = (result.of_clairvoyant, result.of_odds, result.of_best_static)
        shares = "  ".join(f"{share:5.0%}" for share in found)
        rival = result.rivals[0]
        yield f"{name:<{width}}  {means}  {shares}  {result.mean(rival):.2f} {rival}"


def lines_by_temperature(results: Mapping[str, Result]) -> Iterator[str]:
    """As `lines_by_curve`, for each temperature of several."""
    for temperature in sorted({t for result in results.values() for t in result.temperatures}):
        found = {name: result.at(temperature) for name, result in results.items()}
        if found == dict(results):
            return
        yield f"at temperature {temperature:g}"
        yield from lines_by_curve(found)
        yield ""
