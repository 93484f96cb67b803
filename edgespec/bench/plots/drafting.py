"""What was drafted, at which cost, and how much of it was accepted."""

import math
from typing import Any

import numpy as np

from edgespec.bench.plots.page import (
    COLOURS,
    MOST_LINES,
    arms_of,
    clean,
    first_temperature,
    look_of,
    new_figure,
    titled,
)
from edgespec.bench.result import Result


def acceptance(result: Result) -> Any:
    """How often each position of a draft was accepted; None where nobody tells."""
    temperature = first_temperature(result)
    shown = [
        t for t in result.totals if t.temperature == temperature and t.acceptance_per_position
    ][:MOST_LINES]
    if not shown:
        return None
    figure, ((axes,),) = new_figure(7, 4)
    for total in shown:
        rates, length = total.acceptance_per_position, total.mean_acceptance_length or 1
        axes.plot(
            range(1, len(rates) + 1), rates, linewidth=1.4,
            label=f"{total.arm}: {length:.1f} tokens per round", **look_of(result, total.arm),
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("position in the draft")
    axes.set_ylabel("share of rounds that accepted it")
    axes.legend(fontsize=8, frameon=False)
    clean(axes, "both")
    titled(figure, result, f"Acceptance by draft position, temperature {temperature:g}")
    return figure


def curve(result: Result) -> Any:
    """Costs above, what was chosen by them below, over the same rows."""
    with_lengths = {s.arm for s in result.lengths}
    arms = [arm for arm in arms_of(result) if arm in with_lengths][:MOST_LINES]
    figure, ((costs,), (chosen,)) = new_figure(7, 6, 2, 1, sharex=True, height_ratios=(3, 2))
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
    clean(costs, "both")
    for arm in arms:
        found = [s for s in result.lengths if s.arm == arm]
        in_all = sum(s.n for s in found)
        chosen.plot(
            [s.drafted + 1 for s in found], [s.n / in_all for s in found], linewidth=1,
            linestyle=":", label=arm, **look_of(result, arm),
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
    clean(chosen, "both")
    titled(figure, result, "What a pass costs, and how far was drafted")
    return figure
