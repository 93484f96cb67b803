"""Drafters and steps for tests of the controller: what they propose is written down in the test."""

from collections.abc import Iterator, Sequence

import numpy as np

from edgespec.control.acceptance import Usual
from edgespec.control.auto import Auto
from edgespec.control.costs import Costs, Measured
from edgespec.control.log import Log
from edgespec.core import Choice, Draft, Sampler, Steering, Tokens
from edgespec.costs import PassCosts
from edgespec.drafters.arms import Bucket, Heard, Offer, Rates
from edgespec.events import Step
from edgespec.replay.asked import TracedPaid
from edgespec.replay.passes import OneByOne
from edgespec.replay.trace import PaidTrace, Trace

_ROWS = (1, 8, 9, 16, 17, 32, 33, 64)


def line(last: float) -> PassCosts:
    """Costs that rise evenly from 1 for one row to `last` for 64, whatever the kernel."""
    return PassCosts(_ROWS, tuple(1 + (n - 1) * (last - 1) / 63 for n in _ROWS))


FLAT, STEEP = line(1.5), line(100.0)


class Proposer:
    """A free drafter of two kinds of tokens, unlikely and likely ones."""

    name = "proposer"
    buckets = (Bucket("unlikely", 0.1), Bucket("likely", 0.9))

    def __init__(self, outlook: Sequence[int], heard: Sequence[tuple[int, bool]] = ()) -> None:
        self.proposed = list(outlook)
        self.told = list(heard)

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        for bucket, is_hit in self.told:
            heard(bucket, is_hit)
        return iter(self.proposed)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft(tuple(range(min(k, len(self.proposed)))))


def traced(
    n_tokens: int, accepted: bool = True, confidence: float = 0.99, prompt_tokens: int = 100
) -> TracedPaid:
    """A draft model that is always so sure, and always right or always wrong."""
    paid = PaidTrace((accepted,) * n_tokens, (confidence,) * n_tokens, {})
    trace = Trace("made", 0.0, prompt_tokens, n_tokens, {}, {"model": paid})
    return TracedPaid("model", trace, OneByOne(0.0))


def costs_of(
    curve: PassCosts = FLAT,
    draft_s: float | None = None,
    read_s: float | None = None,
    *,
    is_live: bool = True,
) -> Costs:
    return Measured(curve, draft_s, read_s).live(is_live=is_live)


def controller(
    free: Sequence[Proposer] = (),
    paid: Sequence[TracedPaid] = (),
    costs: Costs | None = None,
    branching: Sequence["Planter"] = (),
    *,
    draft_len: int | None = None,
) -> Auto:
    costs = costs or costs_of()
    usual = {arm.name: Usual(arm.buckets) for arm in free}
    usual |= {arm.name: Usual(arm.buckets) for arm in paid}
    usual |= {arm.name: Usual(arm.buckets) for arm in branching}
    log = Log("auto", None, costs)
    return Auto(free, paid, costs, usual, log, branching=branching, draft_len=draft_len)


def context_of(n: int) -> Tokens:
    return np.zeros(n, np.int32)


def step_of(
    choice: Choice,
    *,
    accepted: int = 0,
    context: int = 100,
    step_s: float = 1.0,
    draft_s: float = 0.0,
) -> Step:
    """What the loop makes of a choice that was drafted whole."""
    return Step(
        drafter=choice.drafter,
        draft=(0,) * choice.k,
        tokens=(0,) * (accepted + 1),
        accepted=accepted,
        discarded=0,
        rows=choice.k + 1,
        draft_s=draft_s,
        target_s=step_s - draft_s,
        verify_s=0.0,
        step_s=step_s,
        context=context,
    )


def steered(steering: Steering, confidences: Sequence[float]) -> int:
    """How many tokens are drawn while the model is so sure."""
    n = 0
    for confidence in confidences:
        if not steering.asks() or not steering.draws(confidence):
            break
        n += 1
    return n


class Planter:
    """Offers trees as written down; what its ways are worth is known, or only passes tell."""

    name = "planter"
    buckets = (Bucket("grown", 0.5),)

    def __init__(self, *offers: tuple[int, float], best: Sequence[tuple[int, float]] = ()) -> None:
        self.offered = [Offer(*offer) for offer in offers]
        self.best = tuple(Offer(*offer) for offer in best)
        self.n_asked = 0
        self.rates: Rates = {}

    def offers(self, context: Tokens, most: int, rates: Rates, heard: Heard) -> Sequence[Offer]:
        self.n_asked += 1
        self.rates = rates
        return [offer for offer in self.offered if offer.n_nodes <= most]

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft(tuple(range(k)))

    def way(self, n_nodes: int, depth: int) -> Sequence[int]:
        return (0,) * min(depth, 1) if self.best else ()
