"""Results as text, Markdown and JSON, and back from JSON."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.bench.conditions import Conditions
from edgespec.bench.coverage import NO_TIME
from edgespec.bench.engine import PLAIN
from edgespec.bench.markdown import document, readme_table
from edgespec.bench.report import columns_note, lines
from edgespec.bench.result import Result, load
from edgespec.bench.same_text import divergence_line
from edgespec.bench.score import Divergence
from edgespec.bench.streams import StreamScore
from edgespec.bench.tables import build_rows, markdown_table, table
from edgespec.equality import Difference
from edgespec.errors import UsageError
from tests.unit.bench_world import (
    MOMENT,
    FakeClock,
    ScriptedEngine,
    cells_of,
    cells_of_all,
    plan_of,
    result_of,
)

STREAM = StreamScore("none", 4, 20.0, 1.0, 5.0, 1.5, 3.0, is_batched=False)


def result(*divergences: Divergence) -> Result:
    engine = ScriptedEngine(FakeClock(), {PLAIN: 0.05, "suffix": 0.025}, noise=0.01)
    plan = plan_of("a", "b", "c", "d")
    return result_of(cells_of(engine, plan), plan, divergences=divergences, streams=(STREAM,))


def with_peer(pace_s: float, plain_s: float = 0.04) -> Result:
    clock = FakeClock()
    ours = ScriptedEngine(clock, {PLAIN: 0.05, "suffix": 0.025})
    peers = [
        ScriptedEngine(clock, {name: s}, name=name, plain="other:plain")
        for name, s in (("other:plain", plain_s), ("other:fast", pace_s))
    ]
    plan = plan_of("a")
    cells = cells_of_all([ours, *peers], plan)
    return result_of(cells, plan, arms=(PLAIN, "suffix", "other:plain", "other:fast"))


def diverged(gap: float, deviation: float, arm: str = "suffix") -> Divergence:
    difference = Difference(at=2, plain=3, other=9, gap=gap, deviation=deviation)
    return Divergence("a", arm, difference, " a", " an")


def test_table_aligns_words_left_and_numbers_right() -> None:
    shown = list(table(("prompt", "tok/s"), [("a", "1.0"), ("bcdefgh", "100.0")]))

    assert shown == ["prompt   tok/s", "a          1.0", "bcdefgh  100.0"]


def test_markdown_table_escapes_what_would_end_a_cell() -> None:
    shown = list(markdown_table(("prompt", "tok/s"), [("a|b", "1")]))

    assert shown == ["| prompt | tok/s |", "| --- | ---: |", "| a\\|b | 1 |"]


def test_report_shows_every_figure_that_was_asked_for() -> None:
    text = "\n".join(lines(result()))

    assert "2.0" in text  # suffix against plain
    assert "all 4 equal plain decoding's" in text
    assert "1: 84.0, 4: 115.2" in text
    assert "peak memory 400 MiB; llama.cpp's buffers 272 MiB" in text
    assert "128 MiB beyond them" in text
    assert "commit 012345678" in text
    assert "order drawn with seed 1" in text
    assert "this machine reports no energy" in text
    assert "several readers at once" in text
    assert "CPU          300.0          290.0       -3.3%" in text


def test_report_says_what_it_had_time_for_and_how_long_all_would_take() -> None:
    engine = ScriptedEngine(FakeClock(), {PLAIN: 0.05, "suffix": 0.04})
    plan = plan_of("a", "b", "c", "d", budget_s=12.0)
    found = replace(result_of(cells_of(engine, plan), plan), left_out={"d": NO_TIME, "x": "gone"})

    text = "\n".join(lines(found))

    assert "1 of 1 kinds, 1 of 1 languages, 1 of 1 temperatures, 3 of 4 prompts" in text
    assert "3 of 4 cells (a prompt at a temperature), 1 of them more than once" in text
    assert "reached: chat (en: 3)" in text
    assert "not reached: chat (en)" in text
    assert "4 of 8 turns fitted the time; --minutes 3 would fit all" in text
    assert "left out: x: gone" in text
    assert "left out: d" not in text


def test_report_tells_lengths_apart_where_there_are_several() -> None:
    engine = ScriptedEngine(FakeClock(), {PLAIN: 0.05})
    plan = plan_of("a", "b", arms=(), budget_s=1.0)
    found = result_of(cells_of(engine, plan), plan, arms=(PLAIN,))
    notes = [
        replace(note, length=length)
        for note, length in zip(found.asked.prompts, ("short", "long"), strict=True)
    ]
    found = replace(found, asked=replace(found.asked, prompts=tuple(notes)))

    text = "\n".join(lines(found))

    assert "reached: chat (en short)" in text
    assert "not reached: chat (en long)" in text


def test_report_names_the_drafter_in_force_and_why() -> None:
    # Public fault: flags that were passed on to nobody, so that plain decoding was measured.
    assert '--drafter auto takes "suffix": the draft is left out' in "\n".join(lines(result()))


def test_report_tells_how_noisy_the_machine_was() -> None:
    engine = ScriptedEngine(FakeClock(), {PLAIN: 0.05}, drift=0.01)
    plan = plan_of("a", arms=())

    shown = "\n".join(lines(result_of(cells_of(engine, plan), plan, arms=(PLAIN,))))

    assert "plain decoding of one prompt differed by 1% from turn to turn" in shown


def test_report_says_that_nothing_was_repeated() -> None:
    plan = plan_of("a", "b", budget_s=0.1)
    cells = cells_of(ScriptedEngine(FakeClock(), {PLAIN: 0.05}), plan)

    shown = "\n".join(lines(result_of(cells, plan, arms=(PLAIN,))))

    assert "no turn was repeated, so no interval is known" in shown


def test_report_says_where_a_peer_is_ahead_and_why() -> None:
    (line,) = [line for line in lines(with_peer(0.01)) if line.startswith("ahead")]

    assert "other:fast on a at temperature 0: 5.00 against 2.00 (suffix)" in line
    assert "its plain decoding is 1.25 times as fast here" in line


def test_report_says_where_a_peers_first_token_is_sooner_and_why() -> None:
    found = with_peer(0.03)
    (cell,) = found.cells
    seconds = {"edgespec": 2.0, "other:plain": 1.5, "other:fast": 1.8}
    slow = replace(
        cell,
        prompt_tokens=700,
        ttft_s=seconds,
        readings_s={name: (s, s) for name, s in seconds.items()},
    )
    scored = tuple(replace(s, ttft_s=seconds.get(s.arm, seconds["edgespec"])) for s in found.scores)
    plan = {"target": {"n_batch": 128}}

    (line,) = [
        line
        for line in lines(replace(found, cells=(slow,), scores=scored, plan=plan))
        if line.startswith("sooner first token")
    ]

    # Its fastest arm is the one that a user would take, whichever of them reads soonest.
    assert "other in 1 of 1 cells, on a at temperature 0 with other:fast: 1.80 against" in line
    assert "edgespec reads at most 128 tokens in a pass" in line
    assert "another build of llama.cpp (1.0)" in line


def test_report_says_whose_reader_waits_less_and_why() -> None:
    told = [line for line in lines(with_peer(0.01)) if line.startswith(("lower", "shorter"))]

    assert [line.partition(":")[0] for line in told] == [
        "lower median per token",
        "lower 95th percentile per token",
        "lower 99th percentile per token",
        "shorter worst gap",
    ]
    assert "token: other in 1 of 1 cells, on a at temperature 0 with other:fast" in told[0]
    assert "10 against 25 ms (suffix); it is faster here (5.00 against 2.00)" in told[0]


def test_leads_within_the_noise_share_a_line() -> None:
    found = with_peer(0.03)
    (cell,) = found.cells
    near = replace(cell, readings_s={"edgespec": (1.0, 2.0), "other:fast": (1.4, 1.5)})
    scored = tuple(replace(s, ttft_s=1.45 if s.arm == "other:fast" else 1.5) for s in found.scores)

    shown = list(lines(replace(found, cells=(near,), scores=scored)))

    assert not [line for line in shown if line.startswith("sooner first token")]
    assert "within the noise: other has a sooner first token in 1 of 1 cells" in shown


def with_noisy_peer(pace_s: float, *, remembers: bool = False) -> Result:
    clock = FakeClock()
    ours = ScriptedEngine(clock, {PLAIN: 0.05, "suffix": 0.025}, noise=0.1)
    peer = ScriptedEngine(
        clock, {"other:fast": pace_s}, name="other:fast", plain=None, noise=0.1, seed=4,
        remembers=remembers,
    )  # fmt: skip
    plan = plan_of("a", "b", "c", "d")
    cells = cells_of_all([ours, peer], plan)
    return result_of(cells, plan, arms=(PLAIN, "suffix", "other:fast"))


def test_peer_ahead_within_the_noise_is_told_in_one_line() -> None:
    shown = list(lines(with_noisy_peer(0.0245)))

    (line,) = [line for line in shown if line.startswith("ahead")]
    assert line.startswith("ahead within the noise: other on ")
    assert line.endswith("; another run may turn that round")
    assert "a (fast 1.83, edgespec's suffix 1.75), d (fast" in line
    assert "no peer is ahead of edgespec in any cell by more than the noise" in shown


def test_peer_ahead_in_its_only_turn_is_told_with_what_edgespec_had_in_that_turn() -> None:
    shown = list(lines(with_noisy_peer(0.015, remembers=True)))

    (line,) = [line for line in shown if line.startswith("ahead")]
    assert line.startswith("ahead in a single turn: other on a (fast 2.97, edgespec's ")
    assert "suffix 1.75, and 1.80 in that turn)" in line
    assert "one turn has no interval, and plain decoding of one prompt differs by" in line


def test_peer_ahead_by_more_than_the_noise_has_a_line_for_each_prompt() -> None:
    shown = [line for line in lines(with_noisy_peer(0.01)) if line.startswith("ahead")]

    assert [line.partition(" at temperature")[0] for line in shown] == [
        f"ahead of edgespec: other:fast on {name}" for name in "abcd"
    ]


def test_note_says_which_arms_had_a_single_turn() -> None:
    assert columns_note(with_noisy_peer(0.01, remembers=True)).endswith(
        "One turn only, so no interval, and tok/s of that turn alone: other:fast"
    )
    assert "One turn" not in columns_note(with_noisy_peer(0.01))


def test_waits_of_an_arm_with_a_single_turn_are_not_held_against_edgespecs() -> None:
    shown = list(lines(with_noisy_peer(0.01, remembers=True)))

    assert not [line for line in shown if line.startswith(("lower", "shorter", "sooner"))]


def test_lead_is_not_called_real_where_nothing_was_repeated() -> None:
    found = with_peer(0.01)
    cells = tuple(replace(cell, turns=cell.turns[:1]) for cell in found.cells)

    shown = list(lines(replace(found, cells=cells)))

    assert not [line for line in shown if line.startswith(("ahead of", "lower", "shorter"))]
    assert [line for line in shown if line.startswith("ahead in a single turn: other on a")]
    assert [line for line in shown if line.startswith("of no turn repeated, so noise or not:")]


def test_report_names_no_peer_that_is_behind() -> None:
    assert not [line for line in lines(with_peer(0.03)) if line.startswith("ahead")]


def test_builds_are_told_by_what_differs() -> None:
    rows = {row[0]: row[-1] for row in build_rows(with_peer(0.03))}

    assert rows == {
        "edgespec": "AVX2 FMA", "other:plain": "without FMA", "other:fast": "without FMA"
    }  # fmt: skip


def test_ratio_stands_beside_what_a_build_differs_in() -> None:
    rows = {row[0]: row[-2] for row in build_rows(with_peer(0.03))}

    assert rows == {"edgespec": "1.00", "other:plain": "1.25", "other:fast": "1.67"}


def test_all_arms_of_an_engine_that_are_ahead_stand_in_one_sentence() -> None:
    found = lines(with_peer(0.01, plain_s=0.02))

    (line,) = [line for line in found if line.startswith("ahead")]
    assert line.startswith("ahead of edgespec: other:fast on a at temperature 0: 5.00 against 2.00")
    assert line.endswith(" (also plain 2.50)")


def test_note_of_a_peer_stands_behind_what_its_build_differs_in() -> None:
    found = with_peer(0.03)
    builds = [replace(n.build, features=("AVX2", "FMA"), note="quotes itself") for n in found.arms]
    arms = tuple(replace(n, build=b) for n, b in zip(found.arms, builds, strict=True))

    rows = build_rows(replace(found, arms=arms))

    assert rows[-1][-1] == "the same features; quotes itself"


def test_notes_tell_of_heat_and_of_a_hypervisor() -> None:
    after = replace(MOMENT, stolen_s=2.0, busy_s=19.0, n_throttled=3, temperature_c=95.0)
    before = replace(MOMENT, n_throttled=1, temperature_c=60.0, load=1.5)

    notes = " / ".join(Conditions(before, after).notes())

    assert "a hypervisor took 20% of the processor time" in notes
    assert "slowed down for heat 2 times" in notes
    assert "60 °C before, 95 after: hot" in notes
    assert "the machine was busy before it began" in notes


def test_near_tie_is_reported_with_gap_and_deviation() -> None:
    line = divergence_line([diverged(gap=0.02, deviation=0.31)])

    assert "differs from token 3: ' an' for ' a'" in line
    assert "0.020" in line
    assert "0.310" in line
    assert line.endswith("a near-tie")


def test_result_is_not_lossless_when_rounding_explains_nothing() -> None:
    near, far = diverged(0.02, 0.31), diverged(0.5, 0.31)

    assert result(near).is_lossless
    assert not result(near, far).is_lossless
    assert divergence_line([far]).endswith("NOT LOSSLESS")


def test_third_token_that_is_likelier_is_told() -> None:
    near = diverged(0.02, 0.31)
    third = replace(near, difference=replace(near.difference, are_best=False))

    assert divergence_line([third]).endswith(
        "differ by 0.310, and a third is likelier: NOT LOSSLESS"
    )


def test_third_token_that_a_peer_passed_over_is_told_without_a_verdict_on_rounding() -> None:
    near = diverged(gap=0.1, deviation=0.31, arm="other:plain")
    third = replace(near, difference=replace(near.difference, are_best=False))

    assert divergence_line([third]).endswith("and a third is likelier: no near-tie of these two")


def test_same_turning_is_told_once() -> None:
    near = diverged(0.02, 0.31)

    text = "\n".join(lines(result(near, near)))

    assert text.count(divergence_line([near])) == 1


def test_arms_that_take_the_same_turning_share_a_line() -> None:
    arms = ("other:plain", "other:fast", "suffix")

    shown = list(lines(result(*(diverged(gap=0.02, deviation=0.31, arm=arm) for arm in arms))))

    assert [line.partition(": ")[0] for line in shown if "greedy text differs" in line] == [
        "a, other:plain, other:fast",
        "a, suffix",
    ]


def test_drafter_with_a_length_is_ours_to_answer_for() -> None:
    assert not result(diverged(0.5, 0.31, arm="suffix:7")).is_lossless


def test_peers_text_is_not_ours_to_answer_for() -> None:
    far = diverged(0.5, 0.31, arm="llama-server:draft")

    assert result(far).is_lossless
    assert divergence_line([far]).endswith("more than edgespec's own passes differ by")


def test_json_comes_back_as_the_same_result(tmp_path: Path) -> None:
    found = result(diverged(0.02, 0.31))
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(found.to_dict(), allow_nan=False), encoding="utf-8")

    again = load(file)

    assert list(lines(again)) == list(lines(found))
    assert again.scores == found.scores
    assert again.totals == found.totals
    assert again.asked == found.asked


def test_json_has_the_fields_that_readers_rely_on() -> None:
    found = json.loads(json.dumps(result(diverged(0.02, 0.31)).to_dict(), allow_nan=False))

    assert found["schema"] == 2
    assert {"model", "plan", "hardware", "versions", "commit", "conditions", "command"} <= set(
        found
    )
    assert found["scores"][1]["arm"] == "suffix"
    assert found["scores"][1]["interval"]["low"] < 2 < found["scores"][1]["interval"]["high"]
    assert len(found["cells"][0]["turns"][0][0]["tokens"]) == 20
    assert len(found["cells"][0]["turns"][0][0]["arrivals"]) == 20
    assert "steps" not in found["cells"][0]["turns"][0][0]
    assert found["divergences"][0]["is_near_tie"] is True
    assert found["is_lossless"] is True


def test_json_of_an_answer_that_ended_early_has_no_infinite_number() -> None:
    ended = Divergence("a", "model", Difference(2, 3, None, float("inf"), 0.0), " a", "")

    found = json.loads(json.dumps(result(ended).to_dict(), allow_nan=False))

    assert found["divergences"][0]["difference"]["gap"] is None
    assert found["is_lossless"] is False


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is no JSON, or was cut short"),
        ('{"schema": 2, "cells": [{"prom', "is no JSON, or was cut short"),
        ("[]", "is no result of edgespec bench"),
        ("{}", "is no result of edgespec bench"),
        ('{"schema": 1}', "has version 1 of the result's form"),
        ('{"schema": 2, "asked": 3}', "is a damaged result"),
        ('{"schema": 2, "hardware": []}', "is a damaged result"),
    ],
)
def test_load_refuses_what_is_no_result(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "bench.json"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=sentence):
        load(file)


def test_load_refuses_a_result_without_a_measurement(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(replace(result(), cells=()).to_dict()), encoding="utf-8")

    with pytest.raises(UsageError, match="holds no measurement"):
        load(file)


def test_report_says_how_to_have_intervals_where_turns_are_too_few() -> None:
    engine, plan = ScriptedEngine(FakeClock(), {PLAIN: 0.05, "suffix": 0.04}), plan_of("a")

    text = "\n".join(lines(result_of(cells_of(engine, plan), plan)))

    assert "too few turns were repeated for intervals; --rounds 2 or more prompts give them" in text


def test_markdown_holds_tables_command_and_plots(tmp_path: Path) -> None:
    text = "\n".join(document(result(), [tmp_path / "plots" / "speedup.svg"], tmp_path))

    assert "edgespec bench -t a-model" in text
    assert "![Speed-up by task and arm](plots/speedup.svg)" in text
    assert "## By prompt" in text
    assert "| a | 0 | suffix |" in text
    assert "| CPU | 300.0 | 290.0 | -3.3% |" in text


def test_readme_table_has_a_row_per_arm_and_a_column_per_prompt() -> None:
    shown = list(readme_table(with_peer(0.1)))

    assert "`edgespec bench -t a-model`, a CPU" in shown[0]
    assert shown[3:] == [
        "| arm | chat | all | 95 % |",
        "| --- | ---: | ---: | ---: |",
        "| none, tok/s | 20.0 | 20.0 | - |",
        "| suffix | 2.00 | 2.00 | - |",
        "| other:plain | 1.25 | 1.25 | - |",
        "| other:fast | 0.50 | 0.50 | - |",
    ]


def test_readme_table_names_prompts_in_full_where_kinds_repeat() -> None:
    header = list(readme_table(result()))[3]

    assert set(header.strip("| ").split(" | ")) == {"arm", "a", "b", "c", "d", "all", "95 %"}


def test_report_shows_the_costs_that_lengths_are_chosen_by() -> None:
    text = "\n".join(lines(result()))

    assert "as draft lengths are chosen by: 1: 84.0, 4: 115.2" in text
    assert "a draft model's pass in ms: 7.0" in text


def test_report_ends_with_the_cost_of_sampling() -> None:
    *_, row_width, header, row = lines(result())

    assert row_width == "sampling from a row of 151,936 logits"
    assert header.split() == ["setting", "row", "kept", "shape", "ms", "best", "ms", "draw", "ms"]
    assert row.split() == ["greedy", "flat", "1", "0.031", "0.030", "0.002"]
