"""Several readers at once, over a scripted engine."""

from dataclasses import replace

import pytest

from edgespec.bench.engine import PLAIN, Ask, EngineFailed, Run
from edgespec.bench.field import Field
from edgespec.bench.intervals import Interval
from edgespec.bench.measure import Plan
from edgespec.bench.readers import paying
from edgespec.bench.streams import (
    StreamPlan,
    StreamScore,
    measure_streams,
    shared_out,
    with_rest,
)
from tests.unit.bench_world import (
    FakeClock,
    ScriptedEngine,
    cells_of,
    plan_of,
    prompt,
    result_of,
)


class InOrder(ScriptedEngine):
    """Readers are served one by one, whatever their threads do: there is one clock."""

    def one_of_many(self, arm: str, ask: Ask, began_s: float) -> Run:
        with self._lock:
            return super().one_of_many(arm, ask, began_s)

    def __post_init__(self) -> None:
        import threading

        super().__post_init__()
        self._lock = threading.Lock()


def measured(budget_s: float | None = None) -> list[StreamScore]:
    engine = InOrder(FakeClock(), {PLAIN: 0.05, "suffix": 0.025})
    plan = StreamPlan(
        (prompt("a"), prompt("b")), (PLAIN, "suffix"), (1, 2, 4), 10, budget_s=budget_s
    )
    return list(measure_streams(Field([engine]), plan, clock=engine.clock))


def test_every_level_and_arm_has_a_score() -> None:
    assert {(s.n_streams, s.arm) for s in measured()} == {
        (n, arm) for n in (1, 2, 4) for arm in (PLAIN, "suffix")
    }


def test_queued_readers_share_one_engines_speed() -> None:
    plain = {s.n_streams: s for s in measured() if s.arm == PLAIN}

    assert plain[4].tokens_per_s == pytest.approx(20)
    assert plain[4].tokens_per_s == pytest.approx(plain[1].tokens_per_s)
    assert plain[4].worst_ttft_s == pytest.approx(3 * 0.5 + 0.05)
    assert not plain[4].is_batched


def test_nothing_that_one_turn_read_is_resident_in_the_next() -> None:
    engine = InOrder(FakeClock(), {PLAIN: 0.05, "suffix": 0.025})
    plan = StreamPlan((prompt("a"),), (PLAIN, "suffix"), (1, 2), 10)

    list(measure_streams(Field([engine]), plan, clock=engine.clock))

    assert engine.log.count("forget edgespec") == 2 * 2 * 2  # levels, arms, turns


def test_level_that_was_stopped_is_dropped() -> None:
    engine, left = InOrder(FakeClock(), {PLAIN: 0.05}), iter([False] * 3)
    plan = StreamPlan((prompt("a"),), (PLAIN,), (1, 2, 4), 10)

    found = list(
        measure_streams(
            Field([engine]), plan, clock=engine.clock, is_stopped=lambda: next(left, True)
        )
    )

    assert [score.n_streams for score in found] == [1]


def test_arms_stand_in_the_same_order_at_every_level() -> None:
    arms = [score.arm for score in measured()]

    assert arms == [PLAIN, "suffix"] * 3


def test_ratio_is_to_plain_decoding_with_as_many_readers() -> None:
    fast = {s.n_streams: s.ratio for s in measured() if s.arm == "suffix"}

    assert fast == pytest.approx({1: 2.0, 2: 2.0, 4: 2.0})


def test_ratio_has_an_interval_where_turns_were_repeated_at_several_levels() -> None:
    known, of_plain = [], []
    for seed in range(25):
        engine = InOrder(FakeClock(), {PLAIN: 0.05, "suffix": 0.05}, noise=0.1, seed=seed)
        plan = StreamPlan((prompt("a"),), (PLAIN, "suffix"), (1, 2, 4, 8), 10, seed=seed)
        found = list(measure_streams(Field([engine]), plan, clock=engine.clock))
        known += [score.interval for score in found if score.arm == "suffix"]
        of_plain += [score.interval for score in found if score.arm == PLAIN]

    # 95 % of 100 are 95, but that one reader's turns are noisier than those of eight.
    assert sum(interval is not None and 1.0 in interval for interval in known) >= 88
    assert of_plain == [None] * 100


@pytest.mark.parametrize("n_good", [0, 1])
def test_engine_that_fails_on_the_way_leaves_the_others_their_scores(n_good: int) -> None:
    class Failing(InOrder):
        n_asked = 0

        def one_of_many(self, arm: str, ask: Ask, began_s: float) -> Run:
            self.n_asked += 1
            if self.n_asked > n_good:
                raise EngineFailed("it broke off")
            return super().one_of_many(arm, ask, began_s)

    clock = FakeClock()
    ours = InOrder(clock, {PLAIN: 0.05})
    peer = Failing(clock, {"peer:plain": 0.05}, name="peer:plain")
    plan = StreamPlan((prompt("a"),), (PLAIN, "peer:plain"), (1, 2), 10)
    field = Field([ours, peer])

    found = list(measure_streams(field, plan, clock=clock))

    assert {(s.n_streams, s.arm) for s in found} == {(1, PLAIN), (2, PLAIN)}
    assert field.failures == {"peer:plain": "it broke off"}


def test_no_level_begins_that_would_end_too_late() -> None:
    # One reader takes 2 x (0.5 + 0.25) s, two take 3 s.
    assert {s.n_streams for s in measured(budget_s=5.0)} == {1, 2}


def test_readers_ask_for_different_kinds_and_get_a_share_of_the_time() -> None:
    engine = InOrder(FakeClock(), {PLAIN: 0.05, "suffix": 0.025})
    prompts = tuple(prompt(name, kind=name[0]) for name in ("a1", "a", "b", "c1", "c", "d", "e"))
    plan = Plan(prompts, ("suffix",), (0.0,), max_tokens=30, budget_s=100.0)

    alone, crowded = shared_out(plan, Field([engine]), (1, 2))

    assert [p.name for p in crowded.prompts] == ["a", "b", "c", "d"]
    assert (crowded.arms, crowded.levels, crowded.max_tokens) == ((PLAIN, "suffix"), (1, 2), 30)
    assert (alone.budget_s, crowded.budget_s) == (70.0, 30.0)
    assert shared_out(plan, Field([engine]), ())[0] == plan


def test_many_readers_get_what_time_one_reader_left() -> None:
    engine = InOrder(FakeClock(), {PLAIN: 0.05})
    plan = Plan((prompt("a"),), (), (0.0,), budget_s=100.0)
    _, crowded = shared_out(plan, Field([engine]), (1, 2))

    assert with_rest(crowded, plan, taken_s=20.0).budget_s == 80.0
    assert with_rest(crowded, plan, taken_s=90.0).budget_s == 30.0
    assert with_rest(replace(crowded, budget_s=None), plan, taken_s=20.0).budget_s is None


def scored(
    arm: str, *speeds: float, is_batched: bool = False, noise: float | None = None
) -> list[StreamScore]:
    """An arm with 1, 2, 4 readers; edgespec's plain decoding makes 20 tokens per second.

    `noise`: half an interval's width, as a ratio.
    """

    def around(ratio: float) -> Interval | None:
        return None if noise is None else Interval(ratio / noise, ratio * noise)

    return [
        StreamScore(arm, n, speed, speed / 20, 5.0, 1.0, 2.0, is_batched, around(speed / 20))
        for n, speed in zip((1, 2, 4), speeds, strict=True)
    ]


def told(*scores: list[StreamScore]) -> list[str]:
    plan = plan_of("a", arms=())
    cells = cells_of(ScriptedEngine(FakeClock(), {PLAIN: 0.05}), plan)
    streams = tuple(score for found in scores for score in found)
    return list(paying(result_of(cells, plan, arms=(PLAIN,), streams=streams)))


def test_drafts_of_an_engine_that_queues_pay_until_decoding_together_would_bring_more() -> None:
    first, second, third = told(scored(PLAIN, 20, 20, 20), scored("auto", 40, 40, 40))

    assert "auto: times its engine's plain decoding 2.00 with 1, 2.00 with 2, 2.00 with 4" in first
    assert "it pays at all of them (answers queue" in first
    # A pass of 4 rows costs 115 instead of 84 ms.
    assert "would give 1.00 with 1, 1.78 with 2, 2.92 with 4 readers" in second
    assert "from 4 readers on that is more than drafts bring one by one (auto: 2.00)" in third


def test_drafts_of_an_engine_that_decodes_together_stop_paying() -> None:
    lines = told(
        scored(PLAIN, 20, 20, 20),
        scored("auto", 30, 30, 30),
        scored("llama-server:plain", 19, 28, 44, is_batched=True),
        scored("llama-server:ngram-simple", 27, 29, 40, is_batched=True),
    )

    assert "1.42 with 1, 1.04 with 2, 0.91 with 4 readers; it does not pay with 4" in lines[1]
    assert "come on top of those of the other readers" in lines[1]
    assert "with 4 readers llama-server:plain is ahead, 44.0 against 30.0" in lines[2]


def test_drafts_that_never_pay_are_told() -> None:
    lines = told(scored(PLAIN, 20, 20, 20), scored("auto", 20, 19, 20))

    assert "it pays at none of them on these prompts" in lines[0]


@pytest.mark.parametrize(
    ("speeds", "verdict"),
    [
        ((21, 19, 20), "all of that is within the noise"),
        ((30, 30, 21), "it pays with 1 or 2, with 4 that is within the noise"),
        ((30, 21, 12), "it does not pay with 4, with 2 that is within the noise"),
        ((30, 30, 12), "it does not pay with 4"),
        ((12, 12, 12), "it pays at none of them on these prompts"),
    ],
)
def test_gain_or_loss_within_its_interval_is_called_neither(
    speeds: tuple[float, ...], verdict: str
) -> None:
    first, *_ = told(scored(PLAIN, 20, 20, 20), scored("auto", *speeds, noise=1.2))

    assert f"readers; {verdict} (" in first


def test_engine_that_decodes_together_is_ahead_by_more_than_both_may_be_off() -> None:
    def last(noise: float) -> str:
        return told(
            scored(PLAIN, 20, 20, 20),
            scored("auto", 20, 20, 20, noise=noise),
            scored("llama-server:plain", 19, 23, 23, is_batched=True, noise=noise),
        )[-1]

    assert "with 2 readers llama-server:plain is ahead" in last(1.05)
    assert "by more than the noise" in last(1.15)


def test_one_reader_alone_says_nothing_of_several() -> None:
    one = scored(PLAIN, 20, 20, 20)[:1], scored("llama-server:plain", 30, 30, 30, is_batched=True)

    assert told(one[0], one[1][:1]) == []
