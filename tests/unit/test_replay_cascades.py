from pathlib import Path

import pytest

from edgespec.control.costs import Measured
from edgespec.costs import UNMEASURED, PassCosts
from edgespec.replay.cascades import LENGTHS, all_spared, lines, spared
from edgespec.replay.curves import ELSEWHERE
from edgespec.replay.trace import PaidTrace, Proposal, Trace, read

RECORDED = Path(__file__).parents[1] / "data" / "traces" / "qwen.json.gz"
FLAT = Measured(PassCosts((1, 8, 9, 16), (1.0, 1.1, 1.1, 1.2)))
USUAL = Measured(UNMEASURED)
STEEP = Measured(PassCosts((1, 2), (1.0, 2.0)))
N = 64
SURE = 7
"""A long match that always went on so."""


def trace(*, accepted: bool, guessed: bool) -> Trace:
    """An answer whose every token the draft model says, and retrieval guesses; or not."""
    said = tuple(Proposal((SURE,) * 16, min(16, N - at) if guessed else 0) for at in range(N))
    paid = PaidTrace((accepted,) * N, (0.9,) * N, {})
    return Trace("t", 0.0, 8, N, {"suffix": said}, {"model": paid})


def test_guesses_that_are_right_spare_passes() -> None:
    found = spared("flat", [trace(accepted=True, guessed=True)], FLAT, 8, beside=False)

    assert sum(found.by_rows.values()) < 0.2 * found.tokens
    assert found.time < 0.25


def test_guesses_that_are_wrong_are_soon_not_made() -> None:
    found = spared("usual", [trace(accepted=True, guessed=False)] * 3, USUAL, 8, beside=False)

    assert sum(found.by_rows.values()) == found.tokens
    assert found.by_rows[1] > 0.8 * found.tokens


def test_every_token_takes_a_pass_where_the_model_is_refused() -> None:
    found = spared("flat", [trace(accepted=False, guessed=True)], FLAT, 4, beside=False)

    assert sum(found.by_rows.values()) == found.tokens


def test_rows_that_cost_as_much_as_passes_are_not_taken() -> None:
    found = spared("steep", [trace(accepted=True, guessed=True)], STEEP, 8, beside=False)

    assert found.by_rows == {1: found.tokens}


def test_likely_copies_are_left_to_retrieval_beside() -> None:
    found = spared("flat", [trace(accepted=True, guessed=True)], FLAT, 8, beside=True)

    assert (found.tokens, found.time) == (0, 1.0)


@pytest.mark.parametrize("curve", ["here", *ELSEWHERE])
def test_recorded_answers_are_drafted_for_no_dearer_with_a_cascade(curve: str) -> None:
    """What makes it the default: on no curve, and for no length, it loses."""
    recording = read(RECORDED)
    costs = {"here": recording.costs, **ELSEWHERE}[curve]

    found = list(all_spared(recording.traces, {curve: costs}))

    assert len(list(lines(found))) == 2 + 2 * len(LENGTHS)
    assert all(one.time <= 1.005 for one in found)
    assert any(one.time < 0.95 for one in found)
