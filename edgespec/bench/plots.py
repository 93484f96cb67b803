"""A result as plots, SVG and PNG: readable without colours, and by the colour-blind.

matplotlib comes with the extra `plots` and is imported here only.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgespec.bench.latency import token_gaps_ms
from edgespec.bench.measure import PLAIN
from edgespec.bench.result import Result
from edgespec.bench.score import Score, Total
from edgespec.errors import UsageError

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Okabe and Ito's palette (2008), told apart with any colour vision; black is plain decoding's."""
MARKERS = ("o", "s", "^", "D", "v", "P")
HATCHES = ("", "///", "...", "xx")
_WIN, _LOSS = COLOURS[0], COLOURS[1]
_GRID = {"color": "#DDDDDD", "linewidth": 0.6}
_DPI = 150
_COLUMNS = 4
_MOST_LINES = len(COLOURS)


def require_matplotlib() -> None:
    """Raises: `UsageError` with the command that gets it."""
    try:
        import matplotlib  # noqa: F401  # 0.3 s and 30 MB that only plots pay
    except ImportError as error:
        raise UsageError(
            "plots need matplotlib, which is not installed", hint='pip install "edgespec[plots]"'
        ) from error


def draw(result: Result, folder: Path) -> list[Path]:
    """Write every plot that the result has figures for; gives the files.

    Raises: `UsageError` without matplotlib.
    """
    require_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[Result], Any]] = {
        "speedup": _speedup,
        "acceptance": _acceptance,
        "curve": _curve,
        "latency": _latency,
        "time": _time,
        "streams": _streams,
    }
    files = []
    for name, make in makers.items():
        figure = make(result)
        if figure is None:
            continue
        for ending in ("svg", "png"):
            file = folder / f"{name}.{ending}"
            figure.savefig(file, dpi=_DPI)
            files.append(file)
    return files


def _figure(width: float, height: float, rows: int = 1, columns: int = 1, **shape: Any) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **shape)


def _titled(figure: Any, result: Result, title: str) -> None:
    model = result.model
    figure.suptitle(
        f"{title}\n{model['target']} {model['target_quant']}, {model['backend']}", fontsize=11
    )


def _clean(axes: Any, grid: str) -> None:
    axes.grid(axis=grid, **_GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _first_temperature(result: Result) -> float:
    return min(result.asked.temperatures)


def _speedup(result: Result) -> Any:
    """A panel per arm, a row per task: no colour has to be told from another."""
    temperature = _first_temperature(result)
    scored = [s for s in result.scores if s.temperature == temperature and s.arm != PLAIN]
    arms = list(dict.fromkeys(s.arm for s in scored))
    tasks = list(dict.fromkeys(s.kind for s in scored))
    if not arms:
        return None
    columns = min(_COLUMNS, len(arms))
    rows = math.ceil(len(arms) / columns)
    figure, grid = _figure(
        1.6 + 2.6 * columns, 1.3 + rows * (0.9 + 0.24 * len(tasks)), rows, columns,
        sharex=True, sharey=True,
    )  # fmt: skip
    for axes, arm in zip(grid.flat, arms, strict=False):
        _panel(axes, arm, tasks, [s for s in scored if s.arm == arm])
    for axes in grid.flat[len(arms) :]:
        axes.set_visible(False)
    figure.supxlabel("times plain decoding (1 = as fast), 95 % interval", fontsize=9)
    _titled(figure, result, f"Speed-up by task, temperature {temperature:g}")
    return figure


def _panel(axes: Any, arm: str, tasks: Sequence[str], scored: Sequence[Score]) -> None:
    axes.axvline(1, color="black", linewidth=1, linestyle="--")
    right = 1.0
    for y, task in enumerate(tasks):
        found = [s for s in scored if s.kind == task]
        if not found:
            continue
        ratio, low, high = _mean_ratio(found)
        is_win = ratio >= 1
        axes.errorbar(
            ratio, y, xerr=[[ratio - low], [high - ratio]], fmt="o" if is_win else "X",
            color=_WIN if is_win else _LOSS, markersize=5, linewidth=1.2, capsize=2,
        )  # fmt: skip
        axes.annotate(
            f"{ratio:.2f}", (high, y), xytext=(4, 0), textcoords="offset points", fontsize=7,
            va="center",
        )  # fmt: skip
        right = max(right, high)
    axes.set_xlim(left=0, right=max(axes.get_xlim()[1], 1.25 * right))
    axes.set_yticks(range(len(tasks)), tasks, fontsize=8)
    axes.set_ylim(len(tasks) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_title(arm, fontsize=9)
    _clean(axes, "x")


def _mean_ratio(scored: Sequence[Score]) -> tuple[float, float, float]:
    """The geometric mean, and its interval from those of independent prompts."""
    n = len(scored)
    middle = sum(math.log(s.ratio) for s in scored) / n
    known = [s.interval for s in scored if s.interval is not None]
    if len(known) < n:
        return (math.exp(middle),) * 3
    half = math.hypot(*(math.log(i.high / i.low) / 2 for i in known)) / n
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def _acceptance(result: Result) -> Any:
    temperature = _first_temperature(result)
    shown = [
        t for t in result.totals if t.temperature == temperature and t.acceptance_per_position
    ][:_MOST_LINES]
    if not shown:
        return None
    figure, ((axes,),) = _figure(7, 4)
    for total, colour, marker in zip(shown, COLOURS, MARKERS, strict=False):
        rates = total.acceptance_per_position
        axes.plot(
            range(1, len(rates) + 1), rates, color=colour, marker=marker, markersize=4,
            linewidth=1.4, label=f"{total.arm} ({total.mean_acceptance_length or 1:.1f} per round)",
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("position in the draft")
    axes.set_ylabel("share of rounds that accepted it")
    axes.legend(fontsize=8, frameon=False)
    _clean(axes, "both")
    _titled(figure, result, f"Acceptance by draft position, temperature {temperature:g}")
    return figure


def _curve(result: Result) -> Any:
    """Costs above, what was chosen by them below, over the same rows."""
    arms = list(dict.fromkeys(s.arm for s in result.lengths if s.arm != PLAIN))[:_MOST_LINES]
    figure, ((costs,), (chosen,)) = _figure(7, 6, 2, 1, sharex=True, height_ratios=(3, 2))
    rows = np.array(result.pass_costs.rows)
    costs.plot(
        rows, 1e3 * np.array(result.pass_costs.seconds), color="black", marker="o", markersize=4,
        linewidth=1.4, label="measured at load",
    )  # fmt: skip
    seen = [p for p in result.passes if p.rows <= max(rows)]
    if seen:
        sizes = [12 + 40 * math.log10(1 + p.n) for p in seen]
        costs.scatter(
            [p.rows for p in seen], [p.target_ms for p in seen], s=sizes, facecolors="none",
            edgecolors=COLOURS[1], linewidths=1.2, label="while answering (larger: more often)",
        )  # fmt: skip
    costs.set_ylabel("target pass, ms")
    costs.set_ylim(bottom=0)
    costs.legend(fontsize=8, frameon=False, loc="upper left")
    _clean(costs, "both")
    for arm, colour, marker in zip(arms, COLOURS, MARKERS, strict=False):
        found = [s for s in result.lengths if s.arm == arm]
        in_all = sum(s.n for s in found)
        chosen.plot(
            [s.drafted + 1 for s in found], [s.n / in_all for s in found], color=colour,
            marker=marker, markersize=4, linewidth=1, linestyle=":", label=arm,
        )  # fmt: skip
    chosen.set_ylabel("share of steps")
    chosen.set_yscale("symlog", linthresh=0.01, linscale=0.3)
    chosen.set_yticks([0, 0.01, 0.1, 1], ["0", "1 %", "10 %", "100 %"])
    chosen.set_ylim(0, 1.2)
    chosen.set_xlabel("rows of a pass: the draft and one more (1 = plain decoding)")
    chosen.set_xscale("log", base=2)
    chosen.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    if arms:
        chosen.legend(fontsize=8, frameon=False, loc="upper right")
    _clean(chosen, "both")
    _titled(figure, result, "What a pass costs, and how far was drafted")
    return figure


def _latency(result: Result) -> Any:
    """A panel per arm over the same times."""
    temperature = _first_temperature(result)
    runs = defaultdict(list)
    for cell in result.cells:
        if cell.temperature == temperature:
            for run in (run for turn in cell.turns for run in turn):
                runs[run.arm].append(run)
    gaps = {arm: token_gaps_ms(found)[0] for arm, found in runs.items()}
    gaps = {arm: found for arm, found in gaps.items() if found}
    if not gaps:
        return None
    columns = min(_COLUMNS, len(gaps))
    rows = math.ceil(len(gaps) / columns)
    figure, grid = _figure(
        1.2 + 2.6 * columns, 1.3 + 1.7 * rows, rows, columns, sharex=True, sharey=True
    )
    everything = [gap for found in gaps.values() for gap in found if gap > 0]
    bins = np.geomspace(max(0.5, min(everything)), 1.01 * max(max(everything), 2.0), 40)
    for axes, (arm, found) in zip(grid.flat, sorted(gaps.items(), key=_plain_first), strict=False):
        weights = np.full(len(found), 1 / len(found))
        axes.hist(np.maximum(found, bins[0]), bins, weights=weights, color=COLOURS[4])
        median, p99 = np.percentile(found, [50, 99])
        axes.axvline(median, color="black", linewidth=1.2)
        axes.axvline(p99, color=COLOURS[1], linewidth=1.2, linestyle="--")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:.0%}")
        axes.tick_params(labelsize=8)
        axes.set_title(f"{arm}\nmedian {median:.0f}, p99 {p99:.0f} ms", fontsize=8)
        _clean(axes, "y")
    for axes in grid.flat[len(gaps) :]:
        axes.set_visible(False)
    figure.supxlabel("ms per token (solid: median, dashed: 99th percentile)", fontsize=9)
    figure.supylabel("share of tokens", fontsize=9)
    _titled(figure, result, f"Latency per token, temperature {temperature:g}")
    return figure


def _plain_first(item: tuple[str, list[float]]) -> tuple[bool, bool]:
    return item[0] != PLAIN, ":" in item[0]


def _time(result: Result) -> Any:
    temperature = _first_temperature(result)
    shown = [t for t in result.totals if t.temperature == temperature and t.shares is not None]
    if not shown:
        return None
    figure, ((axes,),) = _figure(7, 1.8 + 0.45 * len(shown))
    parts = ("draft", "target", "verify", "host")
    for y, total in enumerate(shown):
        _bar(axes, y, total, parts)
    axes.set_yticks(range(len(shown)), [t.arm for t in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    axes.set_xlabel("share of decoding time")
    handles, labels = axes.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    figure.legend(
        by_label.values(), by_label.keys(), loc="outside lower center", ncols=4, fontsize=8,
        frameon=False,
    )  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    _titled(figure, result, f"Where the time went, temperature {temperature:g}")
    return figure


_SHARE_COLOURS = ("#56B4E9", "#BBBBBB", "#E69F00", "#009E73")


def _bar(axes: Any, y: int, total: Total, parts: Sequence[str]) -> None:
    left = 0.0
    for part, colour, hatch in zip(parts, _SHARE_COLOURS, HATCHES, strict=True):
        share = getattr(total.shares, part)
        axes.barh(
            y, share, left=left, color=colour, hatch=hatch, edgecolor="white", height=0.7,
            label={"target": "target pass", "verify": "judging"}.get(part, part),
        )  # fmt: skip
        if share > 0.06:
            axes.text(
                left + share / 2, y, f"{share:.0%}", ha="center", va="center", fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )  # fmt: skip
        left += share


def _streams(result: Result) -> Any:
    arms = list(dict.fromkeys(s.arm for s in result.streams))[:_MOST_LINES]
    if not arms:
        return None
    figure, ((speed, wait),) = _figure(9, 4, 1, 2)
    for arm, colour, marker in zip(arms, ("black", *COLOURS), ("X", *MARKERS), strict=False):
        found = [s for s in result.streams if s.arm == arm]
        how = "together" if found[0].is_batched else "one by one"
        n = [s.n_streams for s in found]
        look = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.4}
        speed.plot(n, [s.tokens_per_s for s in found], label=f"{arm} ({how})", **look)
        wait.plot(n, [s.ttft_s for s in found], **look)
    levels = sorted({s.n_streams for s in result.streams})
    for axes, label in ((speed, "tokens per second, all readers"), (wait, "first token, s")):
        axes.set_xscale("log", base=2)
        axes.set_xticks(levels, [str(n) for n in levels])
        axes.minorticks_off()
        axes.set_xlabel("readers at once")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        _clean(axes, "both")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    _titled(figure, result, "Several readers at once")
    return figure
