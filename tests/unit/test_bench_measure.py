"""Running the arms in turns, over engines that play a script."""

import math
from dataclasses import replace
from random import Random

import pytest

from edgespec.bench.engine import PLAIN, EngineFailed, Reading
from edgespec.bench.field import Field
from edgespec.bench.measure import fitting, measure
from edgespec.bench.order import abba, mixed, spread
from edgespec.bench.suite import BenchPrompt
from tests.unit.bench_world import (
    FakeClock,
    ScriptedEngine,
    cells_of,
    cells_of_all,
    finished,
    plan_of,
    prompt,
)


def engine(**shape: object) -> ScriptedEngine:
    return ScriptedEngine(FakeClock(), {PLAIN: 0.05, "suffix": 0.04}, **shape)  # type: ignore[arg-type]


def test_abba_runs_every_turn_forth_and_back() -> None:
    forth, back = abba(("none", "suffix", "model"), 1, Random(1))

    assert sorted(forth) == ["model", "none", "suffix"]
    assert back == forth[::-1]


def test_abba_lets_every_arm_begin_about_as_often() -> None:
    random = Random(1)

    firsts = [turn[0] for _ in range(300) for turn in abba(("a", "b", "c"), 1, random)]

    assert all(150 < firsts.count(arm) < 250 for arm in "abc")


def test_abba_puts_what_all_are_compared_with_amid_every_four() -> None:
    arms = ("none", *(f"arm-{i}" for i in range(14)))

    forth, back = abba(arms, 1, Random(1), base="none")

    places = [i for i, arm in enumerate(forth) if arm == "none"]
    assert len(places) == 4
    assert all(min(abs(i - at) for at in places) <= 2 for i in range(len(forth)))
    assert sorted(set(forth)) == sorted(arms)
    assert len(forth) == 14 + 4
    assert back == forth[::-1]


def test_abba_of_a_few_arms_has_what_they_are_compared_with_once() -> None:
    turns = abba(("none", "a", "b", "c", "d"), 3, Random(1), base="none")

    assert all(turn[2] == "none" and len(turn) == 5 for turn in turns)


def test_mixed_keeps_what_tells_most_among_the_first() -> None:
    order = mixed(range(10), Random(2))

    assert sorted(order[:4]) == [0, 1, 2, 3]
    assert sorted(order) == list(range(10))
    assert order != list(range(10))


def variants(*kinds: str, languages: tuple[str, ...] = ("en",)) -> list[BenchPrompt]:
    return [
        replace(prompt(f"{kind}-{length}-{lang}", kind=kind), lang=lang, length=length)
        for length in ("short", "long")
        for kind in kinds
        for lang in languages
    ]


def test_spread_takes_one_of_each_kind_before_a_second_of_any() -> None:
    tasks = spread(variants("a", "b", "c"), (0.0,), Random(1))

    assert [{t.prompt.kind for t in tasks[i : i + 3]} for i in (0, 3)] == [{"a", "b", "c"}] * 2
    assert [t.prompt.length for t in tasks] == ["short"] * 3 + ["long"] * 3


def test_spread_reaches_every_language_and_temperature_among_the_first_of_each_kind() -> None:
    kinds = tuple("abcdef")

    tasks = spread(variants(*kinds, languages=("en", "es", "zh")), (0.0, 0.7), Random(1))

    first = tasks[: len(kinds)]
    assert {t.prompt.kind for t in first} == set(kinds)
    assert {t.prompt.lang for t in first} == {"en", "es", "zh"}
    assert {t.temperature for t in first} == {0.0, 0.7}
    assert len(set(tasks)) == len(tasks) == 6 * 3 * 2 * 2


def test_spread_takes_all_languages_of_a_kind_before_its_longer_prompts() -> None:
    tasks = spread(variants("a", "b", languages=("en", "es", "zh")), (0.0, 0.7), Random(1))

    assert {(t.prompt.kind, t.prompt.lang) for t in tasks[:6]} == {
        (kind, lang) for kind in "ab" for lang in ("en", "es", "zh")
    }


def test_order_follows_the_seed() -> None:
    logs = []
    for seed in (5, 5, 6):
        played = engine()
        cells_of(played, plan_of(seed=seed))
        logs.append(played.log)

    assert logs[0] == logs[1] != logs[2]


def test_measure_gives_each_turn_one_run_of_every_arm() -> None:
    cells = cells_of(engine(), plan_of("a", temperatures=(0.0, 0.7)))

    assert [(cell.prompt, cell.temperature) for cell in cells] == [("a", 0.0), ("a", 0.7)]
    for forth, back in (cell.turns for cell in cells):
        assert sorted(run.arm for run in forth) == ["none", "suffix"]
        assert [run.arm for run in back] == [run.arm for run in forth][::-1]


def test_measure_drops_the_warm_up() -> None:
    played = engine()

    cells = cells_of(played, plan_of("a"))

    answers = [entry for entry in played.log if entry.startswith(("none", "suffix"))]
    assert [entry.split()[-1] for entry in answers] == ["8", "8", "20", "20", "20", "20"]
    assert {run.n_tokens for cell in cells for turn in cell.turns for run in turn} == {20}


def test_measure_wakes_one_engine_at_a_time() -> None:
    clock = FakeClock()
    ours = ScriptedEngine(clock, {PLAIN: 0.05})
    peer = ScriptedEngine(clock, {"peer:plain": 0.06}, name="peer:plain", plain="peer:plain")
    peer.log = ours.log

    list(measure(Field([ours, peer]), plan_of("a", arms=()), clock=clock))

    awake: set[str] = set()
    for entry in ours.log:
        what, _, who = entry.partition(" ")
        awake = awake | {who} if what == "wake" else awake - {who} if what == "rest" else awake
        assert len(awake) <= 1
    assert ours.log.count("wake peer:plain") == 1 + 2 * 2  # warm-up, two turns and reading


def test_measure_asks_all_arms_with_the_prompts_own_seed_and_length() -> None:
    played = engine()

    cells_of(played, plan_of("a", max_tokens=None))
    asked = {entry.partition(" ")[2] for entry in played.log if entry.startswith("suffix")}

    assert asked == {"warm-up 0 8", "a 0 20"}


def test_measure_gives_every_prompt_a_turn_before_any_has_two() -> None:
    played = engine()

    cells_of(played, plan_of("a", "b", "c"))

    read = [entry.partition(" ")[2] for entry in played.log if entry.startswith("read")]
    assert sorted(read[:3]) == ["a", "b", "c"]
    assert read[3:] == read[:3]


def test_measure_leaves_time_for_repeats_and_begins_no_turn_that_would_end_too_late() -> None:
    cells = cells_of(engine(), plan_of("a", "b", "c", "d", budget_s=12.0))

    # The warm-up takes 0.72 s, a turn 0.5 s to read and 1.8 s to answer: three fit two thirds.
    assert [len(cell.turns) for cell in cells] == [2, 1, 1]


def test_reading_is_measured_in_every_turn() -> None:
    (cell,) = cells_of(engine(), plan_of("a"))

    assert cell.readings_s == {"edgespec": (0.5, 0.5)}
    assert cell.ttft_s == {"edgespec": 0.5}


def test_measure_always_measures_one_prompt() -> None:
    assert len(cells_of(engine(), plan_of("a", "b", budget_s=0.1))) == 1


def test_failed_peer_is_left_out_and_the_others_go_on() -> None:
    clock = FakeClock()
    ours = ScriptedEngine(clock, {PLAIN: 0.05})
    peer = ScriptedEngine(clock, {"peer:plain": 0.06}, name="peer:plain", fails_at=2)
    field = Field([ours, peer])

    cells = finished(measure(field, plan_of("a", "b", arms=()), clock=clock))

    assert field.failures == {"peer:plain": "peer:plain broke off"}
    assert [[len(turn) for turn in cell.turns] for cell in cells] == [[2, 1], [1, 1]]
    assert set(field.all_arms) == {PLAIN, "peer:plain"} > set(field.arms)


def test_failed_peer_is_put_to_sleep_lest_it_disturb_the_others() -> None:
    clock = FakeClock()
    peer = ScriptedEngine(clock, {"peer:plain": 0.06}, name="peer:plain", fails_at=2)

    list(measure(Field([ScriptedEngine(clock, {PLAIN: 0.05}), peer]), plan_of("a"), clock=clock))

    assert peer.log[-2:] == ["peer:plain a 0 20", "rest peer:plain"]


def test_engine_that_remembers_answers_each_prompt_once() -> None:
    clock = FakeClock()
    ours = ScriptedEngine(clock, {PLAIN: 0.05})
    peer = ScriptedEngine(clock, {"peer:pool": 0.04}, name="peer:pool", remembers=True)

    plan = plan_of("a", "b", arms=(), temperatures=(0.0, 1.0))
    cells = cells_of_all([ours, peer], plan)

    assert {cell.prompt for cell in cells if len(cell.turns[0]) == 2} == {"a", "b"}
    assert sum(bool(cell.runs("peer:pool")) for cell in cells) == 2
    assert all(len(turn) == 1 for cell in cells for turn in cell.turns[1:])


def test_engine_that_answers_no_more_reads_no_more() -> None:
    clock = FakeClock()
    peer = ScriptedEngine(clock, {"peer:pool": 0.04}, name="peer:pool", remembers=True)

    cells = cells_of_all([ScriptedEngine(clock, {PLAIN: 0.05}), peer], plan_of("a", "b", arms=()))

    assert sorted(entry for entry in peer.log if entry.startswith("read")) == ["read a", "read b"]
    assert {len(cell.readings_s["peer:pool"]) for cell in cells} == {1}


def test_reading_that_may_not_have_been_cold_is_not_counted() -> None:
    class Warm(ScriptedEngine):
        def read(self, prompt: BenchPrompt) -> Reading:
            return Reading(0, math.nan)

    clock = FakeClock()
    peer = Warm(clock, {"peer:plain": 0.04}, name="peer:plain", plain="peer:plain")

    (cell,) = cells_of_all([ScriptedEngine(clock, {PLAIN: 0.05}), peer], plan_of("a", arms=()))

    assert set(cell.ttft_s) == {"edgespec"}


@pytest.mark.parametrize("seed", range(6))
def test_time_for_a_turn_is_foreseen_by_what_there_is_to_read_and_to_say(seed: int) -> None:
    # Short answers, of which reading is the most, must not make a long one look too long.
    clock = FakeClock()
    plan = plan_of("a", "b", "c", "d", arms=(), budget_s=40.0, max_tokens=None, seed=seed)
    long = replace(plan.prompts[0], max_tokens=400)

    cells = cells_of(
        ScriptedEngine(clock, {PLAIN: 0.05}), replace(plan, prompts=(long, *plan.prompts[1:]))
    )

    assert {cell.prompt for cell in cells} == {"a", "b", "c", "d"}
    assert clock.now_s - 100.0 <= 40.0


@pytest.mark.parametrize("n_asked", range(1, 12))
def test_stop_keeps_whole_turns_only(n_asked: int) -> None:
    played, left = engine(), iter([False] * n_asked)

    cells = finished(
        measure(
            Field([played]),
            plan_of("a", "b"),
            clock=played.clock,
            is_stopped=lambda: next(left, True),
        )
    )

    turns = [turn for cell in cells for turn in cell.turns]
    assert all(len(turn) == 2 for turn in turns)
    assert len(turns) == n_asked // 4  # asked after reading, before two answers, after them
    assert len([entry for entry in played.log if entry.startswith("read")]) == len(turns) + 1


def test_failure_of_our_own_is_not_passed_over() -> None:
    with pytest.raises(EngineFailed, match="broke off"):
        cells_of(engine(fails_at=3), plan_of("a"))


def test_fitting_leaves_out_prompts_that_exceed_the_context_with_their_answer() -> None:
    plan = plan_of("a", "b")

    kept = fitting(plan, lambda p: {"a": 81, "b": 80}[p.name], n_ctx=100)

    assert [p.name for p in kept.prompts] == ["b"]
