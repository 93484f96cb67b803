"""How fast each arm is: by task, and with several readers."""

import math
from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

from edgespec.bench.engine import PLAIN
from edgespec.bench.plots.page import (
    COLOURS,
    MARKERS,
    MOST_LINES,
    clean,
    first_temperature,
    new_figure,
    panels,
    titled,
)
from edgespec.bench.result import Result
from edgespec.bench.score import Score

_WIN, _LOSS = COLOURS[0], COLOURS[1]


def speedup(result: Result) -> Any:
    """A panel per arm, a row per task: no colour has to be told from another."""
    temperature = first_temperature(result)
    scored = [s for s in result.scores if s.temperature == temperature and s.arm != PLAIN]
    arms = list(dict.fromkeys(s.arm for s in scored))
    tasks = list(dict.fromkeys(s.kind for s in scored))
    if not arms:
        return None
    figure, grid = panels(len(arms), 0.9 + 0.24 * len(tasks))
    for axes, arm in zip(grid, arms, strict=True):
        _panel(axes, arm, tasks, [s for s in scored if s.arm == arm])
    figure.supxlabel(f"times plain decoding (1 = as fast)\n{_what_marks_are(scored)}", fontsize=9)
    titled(figure, result, f"Speed-up by task, temperature {temperature:g}")
    return figure


def _what_marks_are(scored: Sequence[Score]) -> str:
    told = ["circle: faster", "cross: slower"]
    if any(score.interval for score in scored):
        told.append("bar: 95 % interval")
    if not all(score.interval for score in scored):
        told.append("hollow, no bar: too few turns for one")
    return "; ".join(told)


def _panel(axes: Any, arm: str, tasks: Sequence[str], scored: Sequence[Score]) -> None:
    axes.axvline(1, color="black", linewidth=1, linestyle="--")
    right = 1.0
    for y, task in enumerate(tasks):
        found = [s for s in scored if s.kind == task]
        if not found:
            continue
        ratio, low, high = _mean_ratio(found)
        is_win, is_sure = ratio >= 1, low < high
        axes.errorbar(
            ratio, y, xerr=[[ratio - low], [high - ratio]] if is_sure else None,
            fmt="o" if is_win else "X", color=_WIN if is_win else _LOSS, markersize=5,
            markerfacecolor=None if is_sure else "white", linewidth=1.2, capsize=2,
        )  # fmt: skip
        axes.text(
            0.99, y, f"{ratio:.2f}", transform=axes.get_yaxis_transform(), fontsize=7,
            ha="right", va="center",
        )  # fmt: skip
        right = max(right, high)
    axes.set_xlim(left=0, right=max(axes.get_xlim()[1], 1.3 * right))
    axes.set_yticks(range(len(tasks)), tasks, fontsize=8)
    axes.set_ylim(len(tasks) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_title(arm, fontsize=9)
    clean(axes, "x")


def _mean_ratio(scored: Sequence[Score]) -> tuple[float, float, float]:
    """The geometric mean, and its interval from those of independent prompts."""
    n = len(scored)
    middle = geometric_mean(s.ratio for s in scored)
    known = [s.interval for s in scored if s.interval is not None]
    if len(known) < n:
        return (middle,) * 3
    half = math.hypot(*(math.log(i.high / i.low) / 2 for i in known)) / n
    return middle, middle * math.exp(-half), middle * math.exp(half)


def streams(result: Result) -> Any:
    """All readers' speed and one reader's wait; None where only one was measured."""
    arms = list(dict.fromkeys(s.arm for s in result.streams))[:MOST_LINES]
    if not arms:
        return None
    figure, ((speed, wait),) = new_figure(9, 4, 1, 2)
    for arm, colour, marker in zip(arms, ("black", *COLOURS), ("X", *MARKERS), strict=False):
        found = [s for s in result.streams if s.arm == arm]
        how = "together" if found[0].is_batched else "one by one"
        n = [s.n_streams for s in found]
        look = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.4}
        speed.plot(n, [s.tokens_per_s for s in found], label=f"{arm} ({how})", **look)
        wait.plot(n, [s.ttft_s for s in found], **look)
    levels = sorted({s.n_streams for s in result.streams})
    for axes, label in (
        (speed, "tokens per second, all readers"),
        (wait, "median wait for the first token, s"),
    ):
        axes.set_xscale("log", base=2)
        axes.set_xticks(levels, [str(n) for n in levels])
        axes.minorticks_off()
        axes.set_xlabel("readers at once")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        clean(axes, "both")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    titled(figure, result, "Several readers at once")
    return figure
