"""What trees and lookahead bring by a curve: shares of steps, and times plain, win or lose.

What a window brings per step was counted on real passes and is the same on every machine; the
curve turns it into times.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, geometric_mean

from edgespec.control.costs import Measured
from edgespec.drafters.lookahead import SHAPES, LookaheadDrafter
from edgespec.drafters.tree import TreeDrafter
from edgespec.replay.play import Policy, play, total_s
from edgespec.replay.policies import auto, fixed, plain
from edgespec.replay.trace import Trace

_TELLING = (2, 4, 8, 14, 30)
_POOL_LENGTHS = range(1, max(shape.n for shape in SHAPES))


@dataclass(frozen=True, slots=True)
class Brought:
    """On one curve; speeds are times plain decoding, geometric means over the answers."""

    curve: str
    relative: tuple[float, ...]
    """Passes of `_TELLING` rows, in plain steps."""
    chains: float
    """The controller without trees and windows."""
    with_trees: float
    with_windows: float
    both: float
    tree_share: float
    window_share: float
    """Of the steps of the controller with both, the mean over the answers."""
    always: Mapping[int, float]
    """By nodes: a window at every step, whatever the curve."""
    pool: float | None
    """The pool's newest gram at every step, by its best length; None: not recorded."""


def brought(curve: str, traces: Sequence[Trace], costs: Measured) -> Brought:
    """Replay `traces` by these costs."""
    plain_s = [total_s(play(trace, plain, costs)) for trace in traces]

    def speed(policy: Policy, *, trees: bool = True, windows: bool = True) -> float:
        shown = (_without(trace, trees=trees, windows=windows) for trace in traces)
        took = (total_s(play(trace, policy, costs)) for trace in shown)
        return geometric_mean(s / t for s, t in zip(plain_s, took, strict=True))

    names = [[step.drafter for step in play(trace, auto, costs)] for trace in traces]
    pool = None
    if all(LookaheadDrafter.name in trace.free for trace in traces):
        pool = max(speed(fixed(LookaheadDrafter.name, k)) for k in _POOL_LENGTHS)
    target = costs.target
    return Brought(
        curve=curve,
        relative=tuple(target.of(n) / target.plain_s for n in _TELLING),
        chains=speed(auto, trees=False, windows=False),
        with_trees=speed(auto, windows=False),
        with_windows=speed(auto, trees=False),
        both=speed(auto),
        tree_share=fmean(n.count(TreeDrafter.name) / len(n) for n in names),
        window_share=fmean(n.count(LookaheadDrafter.name) / len(n) for n in names),
        always={
            n: tokens * target.plain_s / target.of(n + 1)
            for n, tokens in tokens_per_step(traces).items()
        },
        pool=pool,
    )


def tokens_per_step(traces: Sequence[Trace]) -> dict[int, float]:
    """By nodes: what a window at every step brings, the target's own token included."""
    found = {}
    for n in sorted({n for trace in traces for n in trace.windows}):
        shown = [trace.windows[n] for trace in traces if n in trace.windows]
        found[n] = sum(map(len, shown)) / sum(map(_n_steps, shown))
    return found


def lines(found: Sequence[Brought], per_step: Mapping[int, float]) -> Iterator[str]:
    """The curves side by side."""
    width = max(len(one.curve) for one in found)
    rows = "  ".join(f"{f'T({n})':>5}" for n in _TELLING)
    yield f"{'trees and lookahead, times plain':<{width}}"
    yield (
        f"{'':<{width}}  {rows}  {'chains':>6}  {'+trees':>6}  {'chosen':>6}"
        f"  {'+windows':>8}  {'chosen':>6}  {'both':>5}"
    )
    for one in found:
        costs = "  ".join(f"{cost:5.2f}" for cost in one.relative)
        yield (
            f"{one.curve:<{width}}  {costs}  {one.chains:6.3f}  {one.with_trees:6.3f}"
            f"  {one.tree_share:6.1%}  {one.with_windows:8.3f}  {one.window_share:6.1%}"
            f"  {one.both:5.3f}"
        )
    if found[0].pool is not None:
        pools = ", ".join(f"{one.curve} {one.pool:.2f}" for one in found)
        yield f"lookahead's pool alone, fed by the text only: {pools}"
    for n, tokens in per_step.items():
        speeds = ", ".join(f"{one.curve} {one.always[n]:.2f}" for one in found)
        yield f"a window of {n} at every step: {tokens:.2f} tokens a step, {speeds}"
    if not per_step:
        yield "no window was run: edgespec bench --record FILE --drafters lookahead"


def _n_steps(right: Sequence[int]) -> int:
    at = n = 0
    while at < len(right):
        at += right[at] + 1
        n += 1
    return n


def _without(trace: Trace, *, trees: bool, windows: bool) -> Trace:
    return replace(
        trace,
        trees=trace.trees if trees else (),
        windows=trace.windows if windows else {},
    )
