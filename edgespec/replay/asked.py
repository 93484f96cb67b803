"""A draft model along a trace: what it drafts, and how far; `passes` tells what that costs."""

from collections.abc import Sequence
from typing import NamedTuple

from edgespec.control.acceptance import Usual
from edgespec.control.costs import Measured
from edgespec.core import Draft, Sampler, Steering, Tokens
from edgespec.drafters.arms import Bucket
from edgespec.drafters.model import ModelDrafter, bucket_of
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.replay.passes import MODEL, RETRIEVAL, OneByOne, WithGuesses
from edgespec.replay.trace import PaidTrace, Trace

CASCADE = "cascade"


def paid_names(trace: Trace) -> tuple[str, ...]:
    """The drafters that its draft model makes."""
    if MODEL not in trace.paid:
        return ()
    return (MODEL, CASCADE) if RETRIEVAL in trace.free else (MODEL,)


class Drawn(NamedTuple):
    """A draft."""

    drafted: int
    accepted: int
    n_passes: int
    """Rows that were looked at, as `core.Steering` counts them."""
    draft_s: float


class TracedPaid:
    """Implements `arms.Paid`: drafts what was recorded."""

    note = ""
    buckets: Sequence[Bucket] = ModelDrafter.buckets
    shares: Sequence[float] = ModelDrafter.shares

    def __init__(self, name: str, trace: Trace, passes: OneByOne | WithGuesses) -> None:
        self.name = name
        self.passes = passes
        self._trace: PaidTrace = trace.paid[MODEL]
        self._start = trace.prompt_tokens
        self._is_greedy = trace.temperature == 0
        self.n_read = 0

    @staticmethod
    def of(trace: Trace, costs: Measured) -> "tuple[TracedPaid, ...]":
        """The model alone, and as a cascade where retrieval was recorded too."""
        if MODEL not in trace.paid or costs.draft_s is None:
            return ()
        alone = TracedPaid(MODEL, trace, OneByOne(costs.draft_s))
        if RETRIEVAL not in trace.free:
            return (alone,)
        usual = {RETRIEVAL: Usual(SuffixDrafter.buckets)}
        return alone, TracedPaid(CASCADE, trace, WithGuesses(trace, costs, usual))

    def bucket_of(self, confidence: float) -> int:
        """See `arms.Paid`."""
        return bucket_of(confidence)

    def unread(self, context: Tokens) -> int:
        """See `arms.Paid`."""
        return max(0, len(context) - 1 - self.n_read)

    def read(self, context: Tokens, n_tokens: int, sampler: Sampler) -> None:
        """Never called: a replay has no models."""
        raise AssertionError("a replay reads nothing")

    def draft_while(self, context: Tokens, k: int, sampler: Sampler, steering: Steering) -> Draft:
        """Never called: a replay has no tokens."""
        raise AssertionError("a replay drafts nothing")

    def drafted(self, context: int, k: int, steering: Steering) -> Drawn:
        """What it would draft after `context` tokens."""
        trace, start, passes = self._trace, context - self._start, self.passes
        drafted = n_passes = 0
        draft_s = 0.0
        refused: int | None = None
        passes.begin(start)
        while drafted < k and (passes.is_there or steering.asks()):
            draft_s += passes.row(k - drafted)
            n_passes += 1
            at = start + drafted
            if not steering.draws(self._confidence(at, refused)):
                break
            if refused is None and not trace.accepted[at]:
                refused = at
            passes.drew(is_right=refused is None)
            drafted += 1
        passes.end()
        if self._is_greedy:
            drafted = steering.kept(drafted)
        accepted = drafted if refused is None else min(refused - start, drafted)
        return Drawn(drafted, accepted, n_passes, draft_s)

    def _confidence(self, at: int, refused: int | None) -> float:
        """Behind a refused token, as it was recorded there."""
        trace = self._trace
        if refused is None:
            return trace.confidence[at]
        further = trace.astray.get(refused, ()) or (trace.confidence[refused],)
        return further[min(at - refused - 1, len(further) - 1)]
