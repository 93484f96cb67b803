from dataclasses import replace

import pytest

from edgespec.core import Choice
from tests.unit.controlled import (
    FLAT,
    STEEP,
    Proposer,
    context_of,
    controller,
    costs_of,
    line,
    steered,
    step_of,
    traced,
)

LIKELY, UNLIKELY = [1] * 63, [0] * 63


def test_nothing_is_drafted_where_nothing_is_proposed() -> None:
    assert controller([Proposer([])]).choose(context_of(100), 50) == Choice("none", 0)


def test_likely_tokens_are_drafted_far_where_rows_are_cheap() -> None:
    choice = controller([Proposer(LIKELY)]).choose(context_of(100), 63)

    assert choice.drafter == "proposer"
    assert choice.k > 15


@pytest.mark.parametrize("proposed", [LIKELY, UNLIKELY])
def test_nothing_is_drafted_where_a_row_costs_more_than_it_brings(proposed: list[int]) -> None:
    choice = controller([Proposer(proposed)], costs=costs_of(STEEP)).choose(context_of(100), 63)

    assert choice.k == 0


def test_draft_ends_before_what_is_unlikely() -> None:
    rising = line(14.0)

    choice = controller([Proposer([1, 1, 1, *UNLIKELY])], costs=costs_of(rising)).choose(
        context_of(100), 63
    )

    assert choice.k == 3


def test_no_draft_is_over_the_budget() -> None:
    assert controller([Proposer(LIKELY)]).choose(context_of(100), 4).k == 4


def test_a_set_length_is_taken_or_nothing() -> None:
    auto = controller([Proposer(LIKELY)], draft_len=5)
    plain = controller([Proposer(UNLIKELY)], costs=costs_of(STEEP), draft_len=5)

    assert auto.choose(context_of(100), 63).k == 5
    assert plain.choose(context_of(100), 63).k == 0


def test_the_more_promising_of_two_drafters_is_taken() -> None:
    other = Proposer(LIKELY)
    other.name = "other"

    choice = controller([Proposer(UNLIKELY), other]).choose(context_of(100), 63)

    assert choice.drafter == "other"


def test_what_a_drafter_would_have_said_is_learned_without_drafting() -> None:
    rising = costs_of(line(20.0))
    silent = controller([Proposer(UNLIKELY)], costs=rising)
    taught = controller([Proposer(UNLIKELY, heard=[(0, True)] * 60)], costs=rising)

    assert silent.choose(context_of(100), 63).k == 0
    assert taught.choose(context_of(100), 63).k > 0


def test_drafts_stop_when_they_keep_failing() -> None:
    """The n-gram drafter that goes on with long failing drafts (llama.cpp #23268)."""
    proposer = Proposer(LIKELY)
    auto = controller([proposer], costs=costs_of(line(14.0)))
    lengths = []

    for _ in range(40):
        choice = auto.choose(context_of(100), 63)
        auto.observe(step_of(choice, step_s=1 + choice.k * 13 / 63))
        proposer.told = [(1, False)]
        lengths.append(choice.k)

    assert lengths[0] > 0
    assert lengths[-10:] == [0] * 10
    assert auto.ledger.balance <= auto.ledger.head_start


def test_a_draft_that_would_risk_too_much_is_not_taken_and_said_so() -> None:
    auto = controller([Proposer(LIKELY)])
    first = auto.choose(context_of(100), 63)
    auto.observe(step_of(first, step_s=8.0))

    second = auto.choose(context_of(100), 63)
    auto.observe(step_of(second))

    assert (first.k > 0, second.k) == (True, 0)
    assert auto.log.explanation().reasons == {"gain": 1, "guarded": 1}


def test_a_plain_step_is_taken_now_and_then_to_know_what_it_costs() -> None:
    auto = controller([Proposer(LIKELY)])
    kinds = []

    for _ in range(250):
        choice = auto.choose(context_of(100), 63)
        auto.observe(step_of(choice, accepted=choice.k, step_s=1.3))
        kinds.append(choice.k > 0)

    assert kinds.count(False) == 1
    assert auto.log.explanation().reasons["refresh"] == 1


def test_the_same_steps_give_the_same_choices() -> None:
    def lengths() -> list[int]:
        auto = controller([Proposer(LIKELY)], costs=costs_of(is_live=False))
        found = []
        for i in range(30):
            choice = auto.choose(context_of(100), 63)
            auto.observe(step_of(choice, accepted=choice.k * (i % 2), step_s=1 + i % 3))
            found.append(choice.k)
        return found

    assert lengths() == lengths()


def test_clock_is_not_looked_at_where_costs_are_assumed() -> None:
    auto = controller([Proposer(LIKELY)], costs=costs_of(is_live=False))
    choice = auto.choose(context_of(100), 63)

    auto.observe(step_of(choice, accepted=choice.k, step_s=1000.0))

    assert auto.ledger.balance < 0


def test_a_draft_model_is_read_for_in_slices_then_drafts() -> None:
    model = traced(400)
    auto = controller(paid=[model], costs=costs_of(FLAT, draft_s=0.05, read_s=0.001))
    choices = []

    for _ in range(2):
        choice = auto.choose(context_of(100), 63)
        model.n_read += choice.n_read
        auto.observe(step_of(choice, step_s=1 + choice.n_read * 0.001))
        choices.append((choice.n_read, choice.k > 0))

    assert choices == [(99, False), (0, True)]


def test_a_draft_model_is_not_read_for_where_that_would_not_pay_back() -> None:
    costs = costs_of(FLAT, draft_s=0.05, read_s=0.001)

    def read(prompt_tokens: int, budget: int) -> int:
        auto = controller(paid=[traced(400, prompt_tokens=prompt_tokens)], costs=costs)
        return auto.choose(context_of(prompt_tokens), budget).n_read

    assert read(1500, 63) > 0
    assert read(1500, 1) == 0
    assert read(100_000, 63) == 0


def test_a_draft_model_that_costs_too_much_is_never_run() -> None:
    auto = controller(paid=[traced(2000)], costs=costs_of(STEEP, draft_s=0.5, read_s=0.001))

    for i in range(1000):
        choice = auto.choose(context_of(100 + i), 63)
        auto.observe(step_of(choice, context=100 + i))
        assert choice == Choice("none", 0)


def test_a_draft_model_that_is_wrong_is_soon_left_alone() -> None:
    model = traced(3000, accepted=False)
    model.n_read = 99
    auto = controller(paid=[model], costs=costs_of(FLAT, draft_s=0.2, read_s=0.0001))
    asked = []

    for i in range(300):
        model.n_read = 99 + i
        choice = auto.choose(context_of(100 + i), 63)
        passes = 0 if choice.steering is None else steered(choice.steering, [0.99] * choice.k)
        step_s = 1 + 0.2 * passes
        taken = Choice(choice.drafter, passes)
        auto.observe(step_of(taken, context=100 + i, step_s=step_s, draft_s=0.2 * passes))
        asked.append(passes > 0)

    assert asked[0]
    assert sum(asked[50:]) < 25
    assert auto.ledger.balance <= auto.ledger.head_start


def test_a_draft_model_goes_on_while_it_is_sure() -> None:
    model = traced(400)
    model.n_read = 99
    rising = line(30.0)
    auto = controller(paid=[model], costs=costs_of(rising, draft_s=0.05, read_s=0.001))

    choice = auto.choose(context_of(100), 63)

    assert choice.steering is not None
    assert steered(choice.steering, [0.99, 0.99, 0.99, 0.1, 0.1]) == 3


def test_a_drafter_with_a_note_is_not_asked() -> None:
    model = traced(400)
    model.n_read, model.note = 99, "it failed"
    auto = controller(paid=[model], costs=costs_of(FLAT, draft_s=0.05, read_s=0.001))

    assert auto.choose(context_of(100), 63) == Choice("none", 0)


@pytest.mark.parametrize(
    ("n_lost", "draft_s", "booked"),
    [(0, 0.0, 1.0), (0, 0.25, 1.25), (2, 0.0, 3.0)],
    ids=["what held it up", "what choosing took", "what a refused draft lost"],
)
def test_of_a_plain_step_the_ledger_books_what_drafting_made_of_it(
    n_lost: int, draft_s: float, booked: float
) -> None:
    auto = controller([Proposer([])])
    choice = auto.choose(context_of(100), 63)
    step = step_of(choice, step_s=3.0, draft_s=draft_s)

    auto.observe(replace(step, rows=1 + n_lost))

    assert auto.ledger.balance == pytest.approx(booked - 1.01)
