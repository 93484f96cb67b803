"""Trees and windows as arms: taken where they promise more than any chain, tried within bounds."""

import pytest

from edgespec.core import Choice
from edgespec.drafters.arms import Offer
from edgespec.events import Step
from tests.unit.controlled import (
    FLAT,
    STEEP,
    Planter,
    Proposer,
    context_of,
    controller,
    costs_of,
    line,
    step_of,
)

LIKELY, UNLIKELY = [1] * 63, [0] * 63


def tree_step(
    choice: Choice, *, accepted: int, step_s: float = 1.0, rows: int | None = None
) -> Step:
    """What the loop makes of a tree: the way through it is its draft."""
    depth = min(choice.k, max(accepted, 1))
    return Step(
        drafter=choice.drafter,
        draft=(0,) * depth,
        tokens=(0,) * (accepted + 1),
        accepted=accepted,
        discarded=0,
        rows=choice.k + 1 if rows is None else rows,
        draft_s=0.0,
        target_s=step_s,
        verify_s=0.0,
        step_s=step_s,
        context=100,
    )


def test_a_tree_that_promises_more_than_the_best_chain_is_taken_whole() -> None:
    auto = controller([Proposer([1])], branching=[Planter((1, 0.8), (4, 2.5), (5, 2.505))])

    assert auto.choose(context_of(100), 63) == Choice("planter", 4)


@pytest.mark.parametrize("promised", [0.0, 1.0, 5.0])
def test_a_chain_that_promises_more_than_the_tree_is_kept(promised: float) -> None:
    auto = controller([Proposer(LIKELY)], branching=[Planter((4, promised))])

    assert auto.choose(context_of(100), 63).drafter == "proposer"


def test_no_tree_is_taken_where_rows_cost_more_than_it_brings() -> None:
    auto = controller(costs=costs_of(STEEP), branching=[Planter((2, 1.9))])

    assert auto.choose(context_of(100), 63) == Choice("none", 0)


def test_trees_keep_to_the_budget() -> None:
    auto = controller(branching=[Planter((3, 2.0), (9, 8.0))])

    assert auto.choose(context_of(100), 5) == Choice("planter", 3)


def test_a_set_length_is_for_chains() -> None:
    auto = controller([Proposer([1])], branching=[Planter((5, 4.0))], draft_len=5)

    assert auto.choose(context_of(100), 63).drafter != "planter"


def test_a_tree_weighs_by_what_is_learned_of_the_others() -> None:
    planter, proposer = Planter((1, 0.1)), Proposer(UNLIKELY, heard=[(0, True)] * 60)
    auto = controller([proposer], branching=[planter])

    auto.choose(context_of(100), 63)

    assert planter.rates["proposer"][0] > 0.5
    assert planter.rates["planter"] == [0.5]


def test_a_tree_that_is_never_of_use_is_looked_at_ever_more_rarely() -> None:
    planter = Planter()
    auto = controller(branching=[planter])

    for _ in range(170):
        auto.observe(step_of(auto.choose(context_of(100), 63)))

    assert planter.n_asked < 20


def test_assumed_costs_of_a_tree_are_those_of_its_rows() -> None:
    rising = costs_of(line(2.0), is_live=False)
    auto = controller(branching=[Planter((9, 8.0))], costs=rising)

    auto.observe(tree_step(auto.choose(context_of(100), 63), accepted=2))

    assert auto.log.explanation().decisions[0].took_s == pytest.approx(1 + 9 / 63)


def test_a_tree_that_would_risk_too_much_is_not_taken_and_said_so() -> None:
    auto = controller(branching=[Planter((9, 8.0))])
    auto.ledger.balance = auto.ledger.head_start

    auto.observe(step_of(auto.choose(context_of(100), 63)))

    assert auto.log.explanation().reasons == {"guarded": 1}


def test_measured_rows_of_a_tree_correct_the_curve() -> None:
    costs = costs_of(line(2.0))
    auto = controller(branching=[Planter((9, 8.0))], costs=costs)
    before = costs.target.relative[10]

    auto.observe(tree_step(auto.choose(context_of(100), 63), accepted=2, step_s=1.9))

    assert costs.target.relative[10] > before


def windowed(relative: float, n_steps: int = 4000) -> list[Choice]:
    """The choices where a window of 7 could bring a token at best, and brings none."""
    window = Planter((7, 0.1), best=[(7, 1.0)])
    curve = line(1 + 63 * (relative - 1) / 7)
    auto = controller(costs=costs_of(curve, is_live=False), branching=[window])
    choices = []
    for _ in range(n_steps):
        choice = auto.choose(context_of(100), 63)
        auto.observe(tree_step(choice, accepted=0) if choice.k else step_of(choice))
        choices.append(choice)
    assert auto.ledger.balance <= auto.ledger.head_start
    return choices


def test_a_window_is_tried_for_some_steps_out_of_what_was_put_aside() -> None:
    choices = windowed(1.2)
    tried = [choice.k > 0 for choice in choices]

    assert not any(tried[:200])
    assert 0 < sum(tried) * 0.2 <= 0.01 * len(tried)
    first = tried.index(True)
    assert all(tried[first : first + 12])


def test_a_window_is_never_run_where_the_curve_forbids_it() -> None:
    assert not any(choice.k for choice in windowed(2.1))


def test_a_window_that_cannot_pay_is_not_even_asked() -> None:
    window = Planter((7, 0.9), best=[(7, 1.0)])
    auto = controller(costs=costs_of(STEEP), branching=[window])

    for _ in range(100):
        auto.observe(step_of(auto.choose(context_of(100), 63)))

    assert window.n_asked == 0


def test_what_a_window_brings_is_learned_from_its_passes() -> None:
    window = Planter((7, 0.9), best=[(7, 1.0)])
    auto = controller(costs=costs_of(FLAT), branching=[window])
    rate = auto.log.explanation().arms

    for _ in range(5):
        auto.observe(tree_step(auto.choose(context_of(100), 63), accepted=1))

    (arm,) = (arm for arm in auto.log.explanation().arms if arm.drafter == "planter")
    assert rate[1].acceptance == ()
    assert arm.acceptance[0].rate > 0.6
    assert arm.steps == 5


def test_chains_come_before_a_trial() -> None:
    window = Planter((7, 0.01), best=[(7, 1.0)])
    auto = controller([Proposer(LIKELY)], branching=[window])

    drafters = set()
    for _ in range(400):
        choice = auto.choose(context_of(100), 63)
        auto.observe(step_of(choice, accepted=choice.k, step_s=1.3))
        drafters.add(choice.drafter)

    assert "planter" not in drafters


def test_why_a_drafter_is_left_out_is_told() -> None:
    window = Planter((7, 0.9), best=[(7, 1.0)])
    auto = controller(costs=costs_of(line(64.0)), branching=[window])
    auto.observe(step_of(auto.choose(context_of(100), 63)))

    (_, arm) = auto.log.explanation().arms

    assert arm.note == (
        "left out: a pass of 8 rows costs 8.0 plain steps here, and brings 2.0 tokens at best"
    )


def test_that_no_tree_was_better_is_told_until_one_is() -> None:
    planter = Planter()
    auto = controller(branching=[planter])
    notes = []
    for offered in ([], [(3, 2.0)], []):
        planter.offered = [Offer(*offer) for offer in offered]
        for _ in range(20):
            auto.observe(step_of(auto.choose(context_of(100), 63)))
        notes.append(auto.log.explanation().arms[1].note)

    assert notes == ["no tree promised more than the best chain", "", ""]
