"""Who knows the odds but not the outcomes, on answers that are written down here."""

import pytest

from edgespec.control.costs import Measured
from edgespec.costs import PassCosts
from edgespec.replay.odds import odds_of, odds_s
from edgespec.replay.oracle import best_s
from edgespec.replay.trace import PaidTrace, Proposal, Trace

COSTS = Measured(PassCosts((1, 2, 3, 8), (1.0, 1.1, 1.2, 1.7)), draft_s=0.1, read_s=0.01)


def copied(accepted: list[int], proposed: int = 1) -> Trace:
    """At each position so many tokens of the same kind are proposed."""
    proposals = tuple(Proposal((0,) * proposed, a) for a in accepted)
    return Trace("made", 0.0, 1, len(accepted), {"suffix": proposals}, {})


def modelled(right: list[bool], confidence: float = 0.99, prompt_tokens: int = 1) -> Trace:
    paid = PaidTrace(tuple(right), (confidence,) * len(right), {})
    return Trace("made", 0.0, prompt_tokens, len(right), {}, {"model": paid})


def test_odds_count_tokens_up_to_the_first_refused_one() -> None:
    odds = odds_of([copied([2, 0, 1], proposed=3)])

    # Right: 2 + 0 + 1. Judged: 3 + 1 + 2. The third of the last draft was never looked at.
    assert odds == {"suffix": {0: pytest.approx((3 + 0.5) / (6 + 1))}}


def test_certain_odds_are_as_good_as_the_future() -> None:
    trace = copied([1] * 200)

    odds = {"suffix": {0: 1.0}}

    assert odds_s(trace, COSTS, odds) == pytest.approx(best_s(trace, COSTS))


def test_luck_costs_who_knows_only_the_odds() -> None:
    """A row for a tenth of a step is worth even odds; who knows the future pays for no other."""
    trace = copied([0, 1] * 50)

    took = odds_s(trace, COSTS, {"suffix": {0: 0.5}})

    assert best_s(trace, COSTS) == pytest.approx(1 + 49 * 1.1 + 1)
    assert took == pytest.approx(1.1 + 49 * 1.1 + 1)


def test_what_is_never_right_is_not_drafted() -> None:
    trace = copied([0] * 20)

    assert odds_s(trace, COSTS, odds_of([trace])) == pytest.approx(20.0)


def test_a_draft_model_reads_the_prompt_before_it_drafts() -> None:
    near, far = modelled([True] * 40), modelled([True] * 40, prompt_tokens=101)
    odds = odds_of([near])

    assert odds_s(far, COSTS, odds) == pytest.approx(odds_s(near, COSTS, odds) + 100 * 0.01)


def test_a_draft_model_is_not_read_for_where_that_cannot_pay() -> None:
    trace = modelled([True] * 10, prompt_tokens=5000)

    assert odds_s(trace, COSTS, odds_of([trace])) == pytest.approx(10.0)
