"""As many draft tokens as a chain or as a tree: what each brings along recorded answers.

What a pass brings is counted and the same on every machine; the curve turns it into times. Knows
no other policies: what `auto` makes of it is in `branches`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import geometric_mean

from edgespec.control.acceptance import Acceptance, Usual
from edgespec.control.costs import Measured
from edgespec.core import Choice, Controller, Tokens
from edgespec.drafters.index import IndexDrafter
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.drafters.tree import TreeDrafter
from edgespec.events import Step
from edgespec.replay.branching import TracedTree
from edgespec.replay.play import Arms, Policy, TracedFree, play, total_s
from edgespec.replay.policies import fixed, plain
from edgespec.replay.trace import Trace

SIZES = (1, 2, 3, 5, 7, 15)
_CHAINS = (SuffixDrafter.name, IndexDrafter.name)
"""Those that a tree is made of."""


@dataclass(frozen=True, slots=True)
class Brought:
    """By passes of up to `n_nodes` draft tokens; all but the last two are tokens a pass, the
    target's own included."""

    n_nodes: int
    alone: Mapping[str, float]
    """Of each drafter, asked at every step."""
    chain: float
    """Of the chain that promises most at each step."""
    tree: float
    """Of the tree, where it promises more than that chain."""
    share: float
    """Of steps that took a tree."""
    times: Mapping[str, tuple[float, float]]
    """By curve: times plain of the chain and of the tree, geometric means over the answers."""


def of_sizes(traces: Sequence[Trace], curves: Mapping[str, Measured]) -> Iterator[Brought]:
    """Replay `traces`, all of which hold trees, at every size."""
    for n in SIZES:
        chain, tree = _most(n, with_trees=False), _most(n, with_trees=True)
        some = next(iter(curves.values()))
        steps = [step for trace in traces for step in play(trace, tree, some)]
        names = [name for name in _CHAINS if all(name in trace.free for trace in traces)]
        yield Brought(
            n,
            {name: _per_pass(traces, fixed(name, n), some) for name in names},
            _per_pass(traces, chain, some),
            _per_pass(traces, tree, some),
            sum(step.drafter == TreeDrafter.name for step in steps) / len(steps),
            {
                name: (_times(traces, chain, costs), _times(traces, tree, costs))
                for name, costs in curves.items()
            },
        )


def lines(found: Sequence[Brought]) -> Iterator[str]:
    """A table."""
    alone, curves = found[0].alone, found[0].times
    yield "as many nodes as a chain or as a tree: tokens a pass, and times plain of both"
    names = "  ".join(f"{name:>6}" for name in alone)
    times = "  ".join(f"{curve:>11}" for curve in curves)
    yield f"nodes  {names}  {'chain':>6}  {'tree':>6}  {'taken':>6}  {times}"
    for one in found:
        each = "  ".join(f"{tokens:6.2f}" for tokens in one.alone.values())
        both = "  ".join(f"{chain:5.2f} {tree:5.2f}" for chain, tree in one.times.values())
        yield (
            f"{one.n_nodes:>5}  {each}  {one.chain:6.2f}  {one.tree:6.2f}  {one.share:6.1%}  {both}"
        )


def _per_pass(traces: Sequence[Trace], policy: Policy, costs: Measured) -> float:
    n_passes = sum(len(play(trace, policy, costs)) for trace in traces)
    return sum(trace.n_tokens for trace in traces) / n_passes


def _times(traces: Sequence[Trace], policy: Policy, costs: Measured) -> float:
    return geometric_mean(
        total_s(play(trace, plain, costs)) / total_s(play(trace, policy, costs)) for trace in traces
    )


def _most(n_nodes: int, *, with_trees: bool) -> Policy:
    return lambda arms, costs: _Most(arms, n_nodes, with_trees=with_trees)


class _Most(Controller):
    """The draft of up to so many tokens that promises most, whatever a pass costs."""

    def __init__(self, arms: Arms, n_nodes: int, *, with_trees: bool) -> None:
        self._free = [arm for arm in arms.free if arm.name in _CHAINS]
        self._trees = [arm for arm in arms.branching if isinstance(arm, TracedTree) and with_trees]
        known: list[TracedFree | TracedTree] = [*self._free, *self._trees]
        self._seen = {arm.name: Acceptance(Usual(arm.buckets)) for arm in known}
        self._n = n_nodes

    def choose(self, context: Tokens, budget: int) -> Choice:
        """By the rates of what came true in this answer."""
        best, k, most = "none", 0, 0.0
        rates = {name: seen.rates for name, seen in self._seen.items()}
        size = min(self._n, budget)
        for arm in self._free:
            survives, tokens, n = 1.0, 0.0, 0
            for bucket in islice(arm.outlook(context, self._seen[arm.name].observe), size):
                survives *= rates[arm.name][bucket]
                tokens += survives
                n += 1
            if tokens > most:
                best, k, most = arm.name, n, tokens
        for tree in self._trees:
            for offer in tree.offers(context, size, rates, self._seen[tree.name].observe):
                if offer.tokens > most:
                    best, k, most = tree.name, offer.n_nodes, offer.tokens
        return Choice(best, k)

    def observe(self, step: Step) -> None:
        """All is heard of."""
