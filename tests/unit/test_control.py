from dataclasses import replace

import pytest

from edgespec.control import Costs, Fixed, PlainSpeed, auto_drafter, draft_lengths
from edgespec.core import Choice
from edgespec.costs import LiveCosts, PassCosts
from edgespec.drafters import DRAFTERS
from edgespec.events import Step
from tests.fakes import tokens_of

CHEAP = Costs(PassCosts((1, 4, 8), (0.1, 0.11, 0.12)), draft_s=0.005)
DEAR = Costs(PassCosts((1, 4, 8), (0.084, 0.115, 0.234)), draft_s=0.042)
ALONE = Costs(PassCosts((1, 4), (0.1, 0.2)), draft_s=None)


def step(step_s: float, *, draft: tuple[int, ...] = (), draft_s: float = 0.0) -> Step:
    return Step(
        drafter="suffix",
        draft=draft,
        tokens=(1,),
        accepted=0,
        discarded=0,
        rows=1,
        draft_s=draft_s,
        target_s=step_s - draft_s,
        verify_s=0.0,
        step_s=step_s,
        context=10,
    )


@pytest.mark.parametrize(("budget", "k"), [(0, 0), (3, 3), (5, 5), (100, 5)])
def test_fixed_chooses_its_length_within_the_budget(budget: int, k: int) -> None:
    fixed = Fixed("suffix", 5, ALONE.target)

    assert fixed.choose(tokens_of(1), budget) == Choice("suffix", k)


def test_fixed_lets_the_costs_see_what_a_pass_took() -> None:
    costs = LiveCosts(PassCosts((1, 4), (0.1, 0.2)))
    fixed = Fixed("suffix", 5, costs)

    fixed.observe(step(0.2))

    assert costs.plain_s > 0.1


def test_fixed_does_not_take_a_reread_for_the_cost_of_a_step() -> None:
    costs = LiveCosts(PassCosts((1, 4), (0.1, 0.2)))

    Fixed("suffix", 5, costs).observe(replace(step(9.0), rows=100))

    assert costs.plain_s == 0.1


def test_speed_with_the_model_is_expected_tokens_over_measured_time() -> None:
    n_tokens = 1 + 0.75 + 0.75**2 + 0.75**3

    assert CHEAP.model_speed(3) == pytest.approx(n_tokens / (0.11 + 3 * 0.005))


def test_best_length_follows_from_the_measured_costs() -> None:
    assert (CHEAP.model_length, DEAR.model_length) == (7, 3)


def test_auto_takes_the_draft_model_where_it_gains() -> None:
    assert auto_drafter(CHEAP) == ("suffix+model", "")


def test_auto_leaves_a_dear_draft_model_out_and_says_why() -> None:
    name, note = auto_drafter(DEAR)

    assert name == "suffix"
    assert "42 ms" in note
    assert "84 ms" in note


def test_auto_without_a_draft_model_is_retrieval() -> None:
    assert auto_drafter(ALONE) == ("suffix", "")


@pytest.mark.parametrize("costs", [ALONE, CHEAP, DEAR])
def test_every_drafter_has_a_length(costs: Costs) -> None:
    lengths = draft_lengths(costs)

    assert lengths.keys() == DRAFTERS.keys()
    assert lengths["none"] == 0


def test_plain_speed_is_unknown_until_eight_plain_steps() -> None:
    speed = PlainSpeed()
    for _ in range(7):
        speed.observe(step(0.1))
    before = speed.tokens_per_s
    speed.observe(step(0.1))

    assert before is None
    assert speed.tokens_per_s == pytest.approx(10)


def test_plain_speed_ignores_steps_with_drafts_and_time_spent_drafting() -> None:
    speed = PlainSpeed()
    for _ in range(8):
        speed.observe(step(0.3, draft_s=0.2))
        speed.observe(step(9.0, draft=(1, 2)))

    assert speed.tokens_per_s == pytest.approx(10)


def test_plain_speed_follows_a_changing_machine() -> None:
    speed = PlainSpeed()
    for step_s in (0.1,) * 20 + (0.2,) * 60:
        speed.observe(step(step_s))

    assert speed.tokens_per_s == pytest.approx(5, rel=0.01)
