"""Who knows the odds but not the outcomes: what no controller can know better, on a trace.

It knows how often tokens of every kind come true, and of which kinds all drafts at all positions
will be, and chooses the least expected time over all sequences of choices. What a clairvoyant is
faster than it is luck: drafted tokens of one kind, of which some come true. What it is faster than
a controller is to be gained by estimating and choosing better.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from edgespec.control.costs import LONGEST, Measured
from edgespec.drafters.model import bucket_of
from edgespec.replay.oracle import runs_of
from edgespec.replay.passes import drafts_s
from edgespec.replay.trace import Trace

Odds = Mapping[str, Mapping[int, float]]
"""By drafter and bucket: how often a token came true, those before it having done so."""
_NOTHING = (0.0,) * (LONGEST + 1)
_UNLIKELY = 0.003
"""Survival from which on a draft is not looked at further."""


class _Chain(NamedTuple):
    """A draft that could be made at one position."""

    odds: Sequence[float]
    accepted: int
    draft_s: Sequence[float]
    """By length; who knows the odds is told which guesses of a draft model's tokens are right."""


class _Ahead(NamedTuple):
    """Time from a position to the end: foreseen, and as it turns out."""

    foreseen_s: float
    real_s: float

    def after(self, seconds: float) -> "_Ahead":
        """The same, so much later."""
        return _Ahead(self.foreseen_s + seconds, self.real_s + seconds)


def odds_of(traces: Sequence[Trace]) -> Odds:
    """How often tokens came true on these traces."""
    counts: dict[str, dict[int, tuple[int, int]]] = {}
    for trace in traces:
        for name, bucket, is_hit in _judged(trace):
            hits, n = counts.setdefault(name, {}).get(bucket, (0, 0))
            counts[name][bucket] = hits + is_hit, n + 1
    return {
        name: {bucket: (hits + 0.5) / (n + 1) for bucket, (hits, n) in seen.items()}
        for name, seen in counts.items()
    }


def odds_s(trace: Trace, costs: Measured, odds: Odds) -> float:
    """Time for the answer, as it turns out."""
    pass_s = [0.0, *(costs.target.of(n) for n in range(1, LONGEST + 2))]
    free = [*_free(trace, odds)]
    if not trace.paid or costs.draft_s is None or costs.read_s is None:
        return _least(trace.n_tokens, free, pass_s)[0].real_s
    warm = _least(trace.n_tokens, [*free, *_paid(trace, odds, costs)], pass_s)
    reading_s = costs.read_s * max(0, trace.prompt_tokens - 1)
    instead = [ahead.after(reading_s) for ahead in warm]
    return _least(trace.n_tokens, free, pass_s, instead)[0].real_s


def _judged(trace: Trace) -> Iterator[tuple[str, int, bool]]:
    for name, proposals in trace.free.items():
        for proposal in proposals:
            for i, bucket in enumerate(proposal.buckets[: proposal.accepted + 1]):
                yield name, bucket, i < proposal.accepted
    for name, paid in trace.paid.items():
        for sure, is_hit in zip(paid.confidence, paid.accepted, strict=True):
            yield name, bucket_of(sure), is_hit


def _free(trace: Trace, odds: Odds) -> Iterator[list[_Chain]]:
    """By drafter, its draft at each position."""
    for name, proposals in trace.free.items():
        own = odds.get(name, {})
        yield [
            _Chain([own.get(b, 0.0) for b in p.buckets], p.accepted, _NOTHING) for p in proposals
        ]


def _paid(trace: Trace, odds: Odds, costs: Measured) -> Iterator[list[_Chain]]:
    spent_s = drafts_s(trace, costs, LONGEST)
    for name, paid in trace.paid.items():
        own = [odds[name][bucket_of(sure)] for sure in paid.confidence]
        runs = runs_of(paid)
        yield [_Chain(own[at : at + LONGEST], run, spent_s[at]) for at, run in enumerate(runs)]


def _least(
    n: int,
    drafters: Sequence[Sequence[_Chain]],
    pass_s: Sequence[float],
    instead: Sequence[_Ahead] | None = None,
) -> list[_Ahead]:
    """From each position on; `instead`: what else may be had from there."""
    ahead = [_Ahead(0.0, 0.0)] * (n + 1)
    for at in range(n - 1, -1, -1):
        best = ahead[at + 1].after(pass_s[1])
        for chains in drafters:
            best = min(best, _drafted(chains[at], at, ahead, pass_s), key=_foreseen)
        ahead[at] = best if instead is None else min(best, instead[at], key=_foreseen)
    return ahead


def _drafted(chain: _Chain, at: int, ahead: Sequence[_Ahead], pass_s: Sequence[float]) -> _Ahead:
    """With the best length of this draft; without any where none is to be had."""
    best = _Ahead(float("inf"), float("inf"))
    survives, refused_s = 1.0, 0.0
    for k, odds in enumerate(chain.odds[: len(ahead) - at - 2], start=1):
        refused_s += survives * (1 - odds) * ahead[at + k].foreseen_s
        survives *= odds
        spent_s = pass_s[k + 1] + chain.draft_s[k]
        foreseen_s = spent_s + refused_s + survives * ahead[at + k + 1].foreseen_s
        if foreseen_s < best.foreseen_s:
            came_to = at + min(k, chain.accepted) + 1
            best = _Ahead(foreseen_s, spent_s + ahead[came_to].real_s)
        if survives < _UNLIKELY:
            break
    return best


def _foreseen(ahead: _Ahead) -> float:
    return ahead.foreseen_s
