"""A draft model along a trace: how far it drafts, and by how many passes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from edgespec.control.costs import Measured
from edgespec.core import Dist
from edgespec.costs import PassCosts
from edgespec.drafters import DrafterInputs
from edgespec.drafters.model import STRAIGHT_ON
from edgespec.replay.asked import CASCADE, TracedPaid
from edgespec.replay.backing import Copies, Said
from edgespec.replay.passes import MODEL, drafts_s
from edgespec.replay.play import play
from edgespec.replay.policies import auto, static
from edgespec.replay.trace import Backing, PaidTrace, Proposal, Trace

FLAT = Measured(PassCosts((1, 8, 9, 16), (1.0, 1.1, 1.1, 1.2)), draft_s=0.5, read_s=0.001)
N = 64
SURE = 7
"""A long match that always went on so."""


def made(
    *, guessed: bool, accepted: Sequence[bool] = (True,) * N, backing: Backing | None = None
) -> Trace:
    """An answer whose tokens retrieval guesses, or not; `accepted` says where the model is."""
    said = tuple(Proposal((SURE,) * 16, min(16, N - at) if guessed else 0) for at in range(N))
    by_name = {} if backing is None else {"suffix": backing}
    paid = PaidTrace(tuple(accepted), (0.9,) * N, {}, by_name)
    return Trace("t", 0.0, 8, N, {"suffix": said}, {"model": paid})


def arms(trace: Trace) -> tuple[TracedPaid, TracedPaid]:
    alone, cascade = TracedPaid.of(trace, FLAT)
    return alone, cascade


def test_a_model_alone_takes_a_pass_for_each_token() -> None:
    alone, _ = arms(made(guessed=True))

    drawn = alone.drafted(8, 6, STRAIGHT_ON)

    assert drawn[:3] == (6, 6, 6)
    assert drawn.draft_s == pytest.approx(3.0)


def test_guesses_that_are_right_spare_passes() -> None:
    _, cascade = arms(made(guessed=True))

    drawn = cascade.drafted(8, 6, STRAIGHT_ON)

    assert drawn[:3] == (6, 6, 6)
    assert drawn.draft_s == pytest.approx(0.5 * 1.1, rel=0.05)


def test_guesses_that_are_wrong_spare_none() -> None:
    _, cascade = arms(made(guessed=False))

    assert cascade.drafted(8, 6, STRAIGHT_ON).draft_s >= 6 * 0.5


def test_nothing_is_guessed_behind_a_refused_token() -> None:
    accepted = [False] + [True] * (N - 1)
    _, cascade = arms(made(guessed=True, accepted=accepted))

    drawn = cascade.drafted(8, 6, STRAIGHT_ON)

    assert drawn[:3] == (6, 0, 6)
    assert drawn.draft_s >= 5 * 0.5


def test_a_copy_that_is_drawn_and_refused_has_spared_the_next_pass() -> None:
    accepted = [False] + [True] * (N - 1)
    backing = Backing((0.9,) * N, (True,) * N)
    unknown, known = (
        arms(made(guessed=True, accepted=accepted, backing=found))[1] for found in (None, backing)
    )

    assert known.drafted(8, 6, STRAIGHT_ON).draft_s < unknown.drafted(8, 6, STRAIGHT_ON).draft_s


def test_nobody_drafts_by_less_than_who_knows_the_guesses() -> None:
    trace = made(guessed=True, accepted=[at % 7 != 3 for at in range(N)])
    least = drafts_s(trace, FLAT, 16)

    for at in range(N - 16):
        for k in (1, 4, 16):
            took = arms(trace)[1].drafted(8 + at, k, STRAIGHT_ON)
            assert took.accepted < k or took.draft_s >= least[at][k] - 1e-9


def test_controller_has_the_cascade_instead_of_the_model() -> None:
    trace = made(guessed=False)

    named = {step.drafter for step in play(trace, auto, FLAT)}

    assert CASCADE in named
    assert MODEL not in named
    assert {f"{CASCADE} 4", f"{MODEL} 4"} <= set(static(trace))


def test_a_model_without_retrieval_beside_it_is_no_cascade() -> None:
    trace = replace(made(guessed=False), free={})

    assert [arm.name for arm in TracedPaid.of(trace, FLAT)] == [MODEL]


def said(*row: float, sampled: bool = False) -> Said:
    logits = np.log(np.array(row, np.float32))
    ids = np.arange(len(row), dtype=np.int32)
    q = Dist(ids, np.array(row)) if sampled else Dist.point(int(np.argmax(row)))
    return Said(logits, q, max(row))


@pytest.mark.parametrize("sampled", [False, True])
def test_copies_are_compared_with_what_the_model_says(sampled: bool) -> None:
    """After 1, 2 the text went on with 3; after 9 it never did."""
    copies = Copies(DrafterInputs(10, lambda token: False))
    row = (0.1, 0.1, 0.1, 0.5, 0.2)

    copies.compare(np.array([1, 2, 3, 4, 1, 2], np.int32), said(*row, sampled=sampled), 3)
    copies.compare(np.array([1, 2, 3, 4, 1, 2, 9], np.int32), said(*row, sampled=sampled), 3)
    copies.compare(np.array([1, 2, 3, 4, 1, 2, 9, 2], np.int32), None, 1)

    assert copies.backing == {"suffix": Backing((0.5, 0.0, 0.0), (True, False, False))}
