"""What a reader waits for: token by token, and by what takes the time."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from edgespec.bench.engine import PLAIN
from edgespec.bench.latency import token_gaps_ms
from edgespec.bench.plots.page import (
    COLOURS,
    HATCHES,
    arms_of,
    clean,
    first_temperature,
    new_figure,
    panels,
    titled,
)
from edgespec.bench.result import Result
from edgespec.bench.total import Total


def latency(result: Result) -> Any:
    """A panel per arm over the same times."""
    from matplotlib.ticker import LogLocator, NullFormatter

    temperature = first_temperature(result)
    runs = defaultdict(list)
    for cell in result.cells:
        if cell.temperature == temperature:
            for run in (run for turn in cell.turns for run in turn):
                runs[run.arm].append(run)
    gaps = {arm: token_gaps_ms(runs[arm])[0] for arm in (PLAIN, *arms_of(result)) if arm in runs}
    gaps = {arm: found for arm, found in gaps.items() if found}
    if not gaps:
        return None
    figure, grid = panels(len(gaps), 1.7)
    everything = [gap for found in gaps.values() for gap in found if gap > 0]
    bins = np.geomspace(max(0.5, min(everything)), 1.01 * max(max(everything), 2.0), 40)
    for axes, (arm, found) in zip(grid, gaps.items(), strict=True):
        weights = np.full(len(found), 1 / len(found))
        axes.hist(np.maximum(found, bins[0]), bins, weights=weights, color=COLOURS[4])
        median, p99 = np.percentile(found, [50, 99])
        axes.axvline(median, color="black", linewidth=1.2)
        axes.axvline(p99, color=COLOURS[1], linewidth=1.2, linestyle="--")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:.0%}")
        axes.tick_params(labelsize=8)
        axes.set_title(f"{arm}\nmedian {median:.0f}, p99 {p99:.0f} ms", fontsize=8)
        clean(axes, "y")
    figure.supxlabel("ms per token (solid: median, dashed: 99th percentile)", fontsize=9)
    figure.supylabel("share of tokens", fontsize=9)
    titled(figure, result, f"Latency per token, temperature {temperature:g}")
    return figure


def time(result: Result) -> Any:
    """A bar per arm, of edgespec's own; colours have patterns too."""
    temperature = first_temperature(result)
    shown = [t for t in result.totals if t.temperature == temperature and t.shares is not None]
    if not shown:
        return None
    figure, ((axes,),) = new_figure(7, 1.8 + 0.45 * len(shown))
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
    titled(figure, result, f"Where the time went, temperature {temperature:g}")
    return figure


_NAMES = {"target": "target pass", "verify": "judging"}
_LEGIBLE = 0.06
"""A share that has room for its number; smaller ones are told beside the bar."""
_SHARE_COLOURS = ("#56B4E9", "#BBBBBB", "#E69F00", "#009E73")


def _bar(axes: Any, y: int, total: Total, parts: Sequence[str]) -> None:
    left = 0.0
    for part, colour, hatch in zip(parts, _SHARE_COLOURS, HATCHES, strict=True):
        share = getattr(total.shares, part)
        axes.barh(
            y, share, left=left, color=colour, hatch=hatch, edgecolor="white", height=0.7,
            label=_NAMES.get(part, part),
        )  # fmt: skip
        if share > _LEGIBLE:
            axes.text(
                left + share / 2, y, f"{share:.0%}", ha="center", va="center", fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )  # fmt: skip
        left += share
    small = [part for part in parts if 0 < getattr(total.shares, part) <= _LEGIBLE]
    axes.annotate(
        ", ".join(f"{_NAMES.get(p, p)} {getattr(total.shares, p):.1%}" for p in small),
        (1, y), (6, 0), textcoords="offset points", va="center", fontsize=7,
    )  # fmt: skip
