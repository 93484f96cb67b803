"""Results as text, Markdown and JSON, and back from JSON."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.bench.conditions import Conditions
from edgespec.bench.coverage import NO_TIME
from edgespec.bench.engine import PLAIN
from edgespec.bench.markdown import document, readme_table
from edgespec.bench.report import lines
from edgespec.bench.result import load
from edgespec.bench.score import Divergence
from edgespec.bench.tables import build_rows, markdown_table, table
from edgespec.equality import Difference
from edgespec.errors import UsageError
from tests.unit.bench_world import (
    MOMENT,
    FakeClock,
    ScriptedEngine,
    cells_of,
    diverged,
    plan_of,
    result,
    result_of,
    with_peer,
)


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


def test_builds_are_told_by_what_differs() -> None:
    rows = {row[0]: row[-1] for row in build_rows(with_peer(0.03))}

    assert rows == {
        "edgespec": "AVX2 FMA", "other:plain": "without FMA", "other:fast": "without FMA"
    }  # fmt: skip


def test_ratio_stands_beside_what_a_build_differs_in() -> None:
    rows = {row[0]: row[-2] for row in build_rows(with_peer(0.03))}

    assert rows == {"edgespec": "1.00", "other:plain": "1.25", "other:fast": "1.67"}


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
        ('{"schema": 2, "memory": {"peak_bytes": null}}', "None where a value of type int belongs"),
        ('{"schema": 2, "commit": 1.5}', "1.5 where a value of type str belongs"),
        ('{"schema": 2, "cells": "none"}', "'none' where a value of type list belongs"),
        ('{"schema": 2, "pass_costs": {"rows": [1, 2], "seconds": [1]}}', "is a damaged result"),
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


def test_readme_table_is_of_the_lowest_temperature_that_was_reached() -> None:
    plan = plan_of("a", temperatures=(0.7,))
    engine = ScriptedEngine(FakeClock(), {PLAIN: 0.05, "suffix": 0.025})

    shown = list(readme_table(result_of(cells_of(engine, plan), plan)))

    assert shown[1].endswith("in the same run, at temperature 0.7:")
    assert "| suffix | 2.00 | 2.00 | - |" in shown


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
