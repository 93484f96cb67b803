from dataclasses import asdict

import pytest

from edgespec.control import PlainSpeed
from edgespec.events import Stats, Step
from edgespec.fold import StatsFold


def step(n_draft: int, accepted: int, *, discarded: int = 0, n_tokens: int | None = None) -> Step:
    return Step(
        drafter="suffix",
        draft=tuple(range(n_draft)),
        tokens=tuple(range(accepted + 1 if n_tokens is None else n_tokens)),
        accepted=accepted,
        discarded=discarded,
        rows=n_draft + 1,
        draft_s=0.1,
        target_s=0.5,
        verify_s=0.2,
        step_s=1.0,
        context=10,
    )


def folded(*steps: Step) -> Stats:
    fold = StatsFold(Stats(prompt_tokens=5), PlainSpeed())
    for each in steps:
        fold.add(each)
    return fold.stats


def test_counts_add_up() -> None:
    stats = folded(step(4, 2), step(0, 0), step(3, 3), step(4, 1, discarded=2, n_tokens=1))

    assert (stats.passes, stats.rounds) == (4, 3)
    assert (stats.drafted, stats.accepted, stats.discarded, stats.rejected) == (11, 6, 2, 3)
    assert stats.generated_tokens == 3 + 1 + 4 + 1


def test_positions_count_the_rounds_that_reached_them() -> None:
    stats = folded(step(4, 2), step(3, 3), step(4, 0))

    assert stats.accepted_at == (2, 2, 1)
    assert sum(stats.accepted_at) == stats.accepted
    assert stats.acceptance_per_position == pytest.approx((2 / 3, 2 / 3, 1 / 3))


def test_times_add_up() -> None:
    stats = folded(step(4, 2), step(4, 2))

    assert stats.decode_s == pytest.approx(2.0)
    assert stats.overhead_s == pytest.approx(2 * (1.0 - 0.1 - 0.5 - 0.2))
    assert stats.decode_tokens_per_s == pytest.approx(3.0)


def test_first_token_is_timed_once() -> None:
    fold = StatsFold(Stats(), PlainSpeed())
    fold.begin()
    fold.prefilled(3)
    before = fold.stats.ttft_s
    fold.add(step(1, 1))
    first = fold.stats.ttft_s
    fold.add(step(1, 1))

    assert before is None
    assert fold.stats.ttft_s == first
    assert first is not None
    assert first >= fold.stats.prefill_s
    assert fold.stats.cached_tokens == 3


def test_note_of_the_request_stays_unless_the_drafter_has_one() -> None:
    kept = StatsFold(Stats(drafter_note="as asked"), PlainSpeed())
    told = StatsFold(Stats(drafter_note="as asked"), PlainSpeed())

    kept.finish("stop")
    told.finish("length", note="it failed")

    assert (kept.stats.finish_reason, kept.stats.drafter_note) == ("stop", "as asked")
    assert (told.stats.finish_reason, told.stats.drafter_note) == ("length", "it failed")


def test_stats_that_were_read_do_not_change() -> None:
    fold = StatsFold(Stats(), PlainSpeed())
    before = fold.stats

    fold.add(step(2, 1))

    assert before == Stats()


def test_step_changes_no_field_that_is_not_of_steps() -> None:
    asked = Stats(
        prompt_tokens=7,
        cached_tokens=3,
        prefill_s=0.5,
        ttft_s=0.6,
        drafter="model",
        drafter_note="as asked",
        finish_reason="length",
    )
    fold = StatsFold(asked, PlainSpeed())

    fold.add(step(0, 0, n_tokens=0))

    of_steps = {"passes", "decode_s", "draft_s", "target_s", "verify_s"}
    kept = asdict(asked).keys() - of_steps
    assert {name: getattr(fold.stats, name) for name in kept} == {
        name: getattr(asked, name) for name in kept
    }
