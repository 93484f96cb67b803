"""What retrieval under a draft model would have spared along recorded answers: passes, counted.

A trace tells which tokens of the draft model the target accepted, and where retrieval said the same
as the answer: there it had also guessed the draft model's token. Behind a refused token nothing is
known of guesses, and each token counts as a pass, which is in the cascade's disfavour. What the
draft model's passes cost by their rows is taken to grow as the target's do.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgespec.control.acceptance import Usual
from edgespec.control.beneath import Beneath
from edgespec.control.costs import Measured
from edgespec.core import Draft, Sampler, Tokens
from edgespec.drafters.arms import Heard
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.events import Step
from edgespec.replay.trace import PaidTrace, Proposal, Trace

LENGTHS = (2, 4, 8, 16)
_MODEL, _RETRIEVAL = "model", SuffixDrafter.name
_LIKELY = 0.5
"""Retrieval drafts for the target itself where at least every second copy comes true."""
_NOWHERE: Tokens = np.empty(0, np.int32)


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
    usual = {_RETRIEVAL: Usual(SuffixDrafter.buckets)}
    n_tokens = 0
    for trace in traces:
        if _MODEL not in trace.paid or _RETRIEVAL not in trace.free:
            continue
        walk = _Walk(trace.free[_RETRIEVAL], trace.paid[_MODEL], costs, usual, by_rows)
        n_tokens += walk.along(trace.n_tokens, length, beside=beside)
    took_s = sum(n * costs.target.of(rows) for rows, n in by_rows.items())
    time = took_s / (n_tokens * costs.target.plain_s) if n_tokens else 1.0
    return Spared(curve, length, beside, n_tokens, dict(sorted(by_rows.items())), time)


class _Told:
    """Retrieval at one position of a trace; fulfils `arms.Free`."""

    name = _RETRIEVAL
    buckets = SuffixDrafter.buckets

    def __init__(self) -> None:
        self.now = Proposal((), 0)
        self.heard: list[tuple[int, bool]] = []

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        for bucket, is_hit in self.heard:
            heard(bucket, is_hit)
        self.heard.clear()
        return iter(self.now.buckets)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        raise AssertionError("a trace has no tokens to give")


class _Walk:
    """One answer."""

    def __init__(
        self,
        proposals: Sequence[Proposal],
        paid: PaidTrace,
        costs: Measured,
        usual: dict[str, Usual],
        by_rows: Counter[int],
    ) -> None:
        self._proposals, self._paid, self._by_rows = proposals, paid, by_rows
        self._told = _Told()
        self._controller = Beneath([self._told], [], costs.live(is_live=False), usual)

    def along(self, n_tokens: int, length: int, *, beside: bool) -> int:
        """Returns: how many tokens the model drafted."""
        at = drafted = 0
        while at < n_tokens - 1:
            said = self._proposals[at]
            if beside and said.buckets and self._told.buckets[said.buckets[0]].prior >= _LIKELY:
                at += min(said.accepted, length) + 1
                continue
            k = min(length, n_tokens - 1 - at)
            at += self._drafted(at, k) + 1
            drafted += k
        return drafted

    def _drafted(self, at: int, k: int) -> int:
        """A draft of k tokens. Returns: how many of them are accepted."""
        i, is_right, n_accepted = 0, True, 0
        while i < k:
            self._told.now = self._proposals[at + i] if is_right else Proposal((), 0)
            guessed = self._controller.choose(_NOWHERE, k - i - 1).k
            self._by_rows[guessed + 1] += 1
            used = 0
            is_there = True
            while is_there:
                here = at + i
                said = self._proposals[here] if is_right else Proposal((), 0)
                is_right = is_right and self._paid.accepted[here]
                n_accepted += is_right
                i += 1
                is_guessed = is_right and said.accepted > 0
                if said.buckets and i < k:
                    self._told.heard.append((said.buckets[0], is_guessed))
                is_there = is_guessed and used < guessed and i < k
                used += 1
            self._controller.observe(_step(guessed, used))
        return n_accepted


def _step(guessed: int, used: int) -> Step:
    return Step(
        drafter=_RETRIEVAL,
        draft=(0,) * guessed,
        tokens=(0,) * used,
        accepted=used - 1,
        discarded=0,
        rows=guessed + 1,
        draft_s=0.0,
        target_s=0.0,
        verify_s=0.0,
        step_s=0.0,
        context=0,
    )


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
