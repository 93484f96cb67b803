"""What time is worth where the text changes: tokens that were cheap say little of the next; and how
much of it reading for a draft model may take."""

from edgespec.costs import PassCosts
from tests.unit.controlled import (
    FLAT,
    Proposer,
    context_of,
    controller,
    costs_of,
    line,
    step_of,
    traced,
)

VECTOR = PassCosts((1, 2, 4, 8, 9, 16, 32, 64), (1, 1.07, 1.28, 1.72, 3.88, 3.95, 4.3, 5.2))
"""Nearly free up to 8 rows, then a cliff."""


def test_a_draft_model_is_asked_right_after_a_long_copy_ended() -> None:
    copies, model = Proposer([1] * 63, heard=[(1, True)] * 100), traced(400)
    auto = controller([copies], [model], costs_of(VECTOR, draft_s=0.12, read_s=0.002))
    model.n_read = 99
    for _ in range(3):
        choice = auto.choose(context_of(100), 63)
        auto.observe(step_of(choice, accepted=choice.k, step_s=5.0))
    copies.proposed = []

    after = auto.choose(context_of(100), 63)

    assert (choice.drafter, choice.k > 40) == ("proposer", True)
    assert (after.drafter, after.k > 0) == ("model", True)


def test_a_short_draft_is_taken_where_long_ones_were_better() -> None:
    """Three tokens of a kind that is mostly right bring less than the copies before them,
    and more than plain decoding."""
    heard = [(1, True)] * 100 + [*[(0, True)] * 4, (0, False)] * 12
    proposer = Proposer([1] * 63, heard)
    auto = controller([proposer], costs=costs_of(line(8.0)))
    for _ in range(6):
        choice = auto.choose(context_of(100), 63)
        auto.observe(step_of(choice, accepted=choice.k, step_s=8.0))
    proposer.proposed, proposer.told = [0] * 3, []

    after = auto.choose(context_of(100), 63)

    assert choice.k > 40
    assert after.k > 0


def test_pace_of_a_draft_model_follows_what_it_brings() -> None:
    def pace(*, accepted: bool) -> float:
        model = traced(400, accepted=accepted)
        auto = controller(paid=[model], costs=costs_of(VECTOR, draft_s=0.12, read_s=0.002))
        for i in range(40):
            model.n_read = 99 + i
            choice = auto.choose(context_of(100 + i), 63)
            if choice.steering is not None:
                choice.steering.asks()
                choice.steering.draws(0.99)
            took_s = VECTOR.of(choice.k + 1)
            drafted = step_of(choice, accepted=choice.k * accepted, step_s=took_s, context=100 + i)
            auto.observe(drafted)
        (arm,) = auto._paid
        return arm.pace

    assert pace(accepted=True) > 2
    assert pace(accepted=False) < 1.5


def test_a_draft_model_reads_at_once_what_takes_no_longer_than_a_plain_step() -> None:
    assert n_read(900, 0.0005) == 899
    assert n_read(900, 0.002) == 500
    assert n_read(200, 0.009) == 128


def test_nothing_is_read_where_the_ledger_would_leave_nothing_to_draft() -> None:
    """Half of a prompt read is time lost: on AMX, short chats were 3 % slower for it."""
    assert n_read(900, 0.002) > 0
    assert n_read(900, 0.003) == 0


def n_read(prompt_tokens: int, read_s: float) -> int:
    """In the first step of an answer."""
    model = traced(400, prompt_tokens=prompt_tokens)
    auto = controller(paid=[model], costs=costs_of(FLAT, draft_s=0.05, read_s=read_s))
    return auto.choose(context_of(prompt_tokens), 63).n_read
