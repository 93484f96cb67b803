"""Plots are there, in both forms, and say what they show."""

import re
from dataclasses import replace
from pathlib import Path

from edgespec.bench.engine import PLAIN
from edgespec.bench.intervals import Interval
from edgespec.bench.plots import draw
from edgespec.bench.plots.page import COLOURS
from edgespec.bench.plots.speed import speedup
from edgespec.bench.result import Result
from edgespec.bench.streams import StreamScore
from tests.unit.bench_world import FakeClock, ScriptedEngine, cells_of, plan_of, result_of


def result() -> Result:
    engine = ScriptedEngine(FakeClock(), {PLAIN: 0.05, "suffix": 0.03}, noise=0.02)
    plan = plan_of("a", "b")
    streams = tuple(
        StreamScore(arm, n, 20.0, 1.0, 20.0 / n, 0.5 * n, 1.0 * n, is_batched=False)
        for arm in (PLAIN, "suffix")
        for n in (1, 2)
    )
    found = result_of(cells_of(engine, plan), plan, streams=streams)
    totals = tuple(
        replace(t, acceptance_per_position=(0.8, 0.5), mean_acceptance_length=2.3)
        if t.arm == "suffix"
        else t
        for t in found.totals
    )
    return replace(found, totals=totals)


def test_plots_are_of_a_temperature_that_was_reached() -> None:
    # What is asked for at 0 may have had no time, since kinds begin with different temperatures.
    plan = plan_of("a", temperatures=(0.7,))
    engine = ScriptedEngine(FakeClock(), {PLAIN: 0.05, "suffix": 0.03})
    found = result_of(cells_of(engine, plan), plan)

    figure = speedup(replace(found, asked=replace(found.asked, temperatures=(0.0, 0.7))))

    assert figure is not None
    assert "temperature 0.7" in figure.get_suptitle()


def test_every_plot_is_drawn_as_svg_and_png(tmp_path: Path) -> None:
    files = draw(result(), tmp_path / "plots")

    names = ("speedup", "acceptance", "curve", "latency", "time", "streams")
    assert {file.name for file in files} == {f"{n}.{e}" for n in names for e in ("svg", "png")}
    assert all(file.stat().st_size > 5_000 for file in files)


def test_plots_without_figures_are_left_out(tmp_path: Path) -> None:
    alone = replace(result(), streams=())

    names = {file.stem for file in draw(alone, tmp_path)}

    assert "streams" not in names
    assert "speedup" in names


def test_svg_tells_model_unit_and_arm(tmp_path: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none"}):
        draw(result(), tmp_path)

    text = re.sub("<[^>]+>", " ", (tmp_path / "speedup.svg").read_text(encoding="utf-8"))
    assert "a-model Q4_K_M, CPU, 2 threads" in text
    assert "times plain decoding" in text
    assert "suffix" in text
    curve = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert "target pass, ms" in curve


def test_point_of_a_single_turn_is_hollow_and_the_plot_says_so() -> None:
    found = result()
    by_task = tuple(replace(s, kind=s.prompt) for s in found.scores)
    known = {"a": None, "b": Interval(1.5, 1.8)}
    single = tuple(replace(s, interval=known[s.prompt]) for s in by_task)

    figure = speedup(replace(found, scores=single))

    fills = [
        line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker() == "o"
    ]
    assert fills == ["white", COLOURS[0]]
    assert "hollow, no bar: too few turns for one" in figure.get_supxlabel()
