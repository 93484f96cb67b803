"""What retrieval under a draft model would have spared along recorded answers: passes, counted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from edgespec.control.acceptance import Usual
from edgespec.control.costs import Measured
from edgespec.drafters.model import STRAIGHT_ON
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.replay.asked import CASCADE, TracedPaid
from edgespec.replay.passes import MODEL, RETRIEVAL, WithGuesses
from edgespec.replay.trace import Trace

LENGTHS = (2, 4, 8, 16)
_LIKELY = 0.5
"""Retrieval drafts for the target itself where at least every second copy comes true."""


@dataclass(frozen=True, slots=True)
class Spared:
    """Passes of the draft model along all answers, for drafts of one length."""

    curve: str
    length: int
    has_retrieval_beside: bool
    """Likely copies are drafted without the model, as under "auto"."""
    tokens: int
    """Drafted: as many passes without a cascade."""
    by_rows: dict[int, int]
    time: float
    """Of the passes; 1: of one for each token."""


def spared(
    curve: str, traces: Iterable[Trace], costs: Measured, length: int, *, beside: bool
) -> Spared:
    """Draft `length` tokens at every step of every answer."""
    by_rows: Counter[int] = Counter()
    usual = {RETRIEVAL: Usual(SuffixDrafter.buckets)}
    n_tokens = 0
    for trace in traces:
        if MODEL not in trace.paid or RETRIEVAL not in trace.free:
            continue
        walk = _Walk(trace, costs, usual)
        n_tokens += walk.along(length, beside=beside)
        by_rows += walk.by_rows
    took_s = sum(n * costs.target.of(rows) for rows, n in by_rows.items())
    time = took_s / (n_tokens * costs.target.plain_s) if n_tokens else 1.0
    return Spared(curve, length, beside, n_tokens, dict(sorted(by_rows.items())), time)


class _Walk:
    """One answer."""

    def __init__(self, trace: Trace, costs: Measured, usual: dict[str, Usual]) -> None:
        self._trace = trace
        self._passes = WithGuesses(trace, costs, usual)
        self._model = TracedPaid(CASCADE, trace, self._passes)

    @property
    def by_rows(self) -> Counter[int]:
        """Its passes."""
        return self._passes.by_rows

    def along(self, length: int, *, beside: bool) -> int:
        """Returns: how many tokens the model drafted."""
        trace, proposals = self._trace, self._trace.free[RETRIEVAL]
        at = drafted = 0
        while at < trace.n_tokens - 1:
            said = proposals[at]
            if beside and said.buckets and SuffixDrafter.buckets[said.buckets[0]].prior >= _LIKELY:
                at += min(said.accepted, length) + 1
                continue
            k = min(length, trace.n_tokens - 1 - at)
            at += self._model.drafted(trace.prompt_tokens + at, k, STRAIGHT_ON).accepted + 1
            drafted += k
        return drafted


def lines(found: Iterable[Spared]) -> Iterator[str]:
    """A table: passes, rows and time for each drafted token."""
    yield "retrieval under the draft model; for each token that it drafts"
    heads = f"{'tokens':>8}{'passes':>8}{'rows':>7}{'time':>7}"
    yield f"{'curve':<8}{'draft':>7}  {'retrieval':<10}{heads}"
    for one in found:
        n = max(1, one.tokens)
        passes = sum(one.by_rows.values()) / n
        rows = sum(k * times for k, times in one.by_rows.items()) / n
        where = "beside too" if one.has_retrieval_beside else "below only"
        yield (
            f"{one.curve:<8}{one.length:>7}  {where:<10}{one.tokens:>8}{passes:>8.3f}{rows:>7.3f}"
            f"{one.time:>7.3f}"
        )


def all_spared(traces: Sequence[Trace], curves: dict[str, Measured]) -> Iterator[Spared]:
    """Every length by every curve, with retrieval beside the draft model and without."""
    for name, costs in curves.items():
        for beside in (False, True):
            for length in LENGTHS:
                yield spared(name, traces, costs, length, beside=beside)
