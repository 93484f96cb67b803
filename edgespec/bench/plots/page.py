"""What all plots share: palette, page, title, grid."""

import math
from typing import Any

from edgespec.bench.engine import PLAIN
from edgespec.bench.result import Result

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Okabe and Ito's palette (2008), told apart with any colour vision; black is plain decoding's."""
MARKERS = ("o", "s", "^", "D", "v", "P")
HATCHES = ("", "///", "...", "xx")
_GRID = {"color": "#DDDDDD", "linewidth": 0.6}
COLUMNS = 4
MOST_LINES = len(COLOURS)


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **shape: Any) -> Any:
    """A figure of so many inches, and its grid of axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **shape)


def titled(figure: Any, result: Result, title: str) -> None:
    """Say above what is shown, and of which model where."""
    model = result.model
    figure.suptitle(
        f"{title}\n{model['target']} {model['target_quant']}, {model['backend']}", fontsize=11
    )


def clean(axes: Any, grid: str) -> None:
    """A quiet grid, and no box."""
    axes.grid(axis=grid, **_GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def first_temperature(result: Result) -> float:
    """The one that is plotted: the lowest that was reached, of those that were asked for."""
    return min(cell.temperature for cell in result.cells)


def arms_of(result: Result) -> list[str]:
    """All arms but plain decoding, in the order of every table and plot."""
    return [arm for arm in dict.fromkeys(s.arm for s in result.scores) if arm != PLAIN]


def look_of(result: Result, arm: str) -> dict[str, Any]:
    """An arm's colour and marker: the same in every plot that shows arms as lines."""
    at = arms_of(result).index(arm) % MOST_LINES
    return {"color": COLOURS[at], "marker": MARKERS[at], "markersize": 4}


def panels(n: int, panel_height: float, width: float = 2.6) -> tuple[Any, list[Any]]:
    """A figure of `n` panels over the same axes; every column's lowest one has its labels."""
    columns = min(COLUMNS, n)
    rows = math.ceil(n / columns)
    figure, grid = new_figure(
        1.4 + width * columns, 1.3 + panel_height * rows, rows, columns, sharex=True, sharey=True
    )
    flat = list(grid.flat)
    for axes in flat[n:]:
        axes.set_visible(False)
    for axes in flat[max(0, n - columns) : n]:
        axes.tick_params(labelbottom=True)
    return figure, flat[:n]
