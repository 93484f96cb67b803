"""`edgespec bench --replay`: recordings decoded again on paper, and what that shows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from edgespec.cli.render import Screen
from edgespec.control.costs import Measured
from edgespec.replay import branches, cascades, nodes
from edgespec.replay.curves import ELSEWHERE
from edgespec.replay.overhead import lines as lines_of_overhead
from edgespec.replay.overhead import overheads
from edgespec.replay.table import compare, lines, lines_by_curve, lines_by_temperature
from edgespec.replay.trace import Trace, joined, read


def replayed(screen: Screen, files: Sequence[Path]) -> int:
    """Compare policies on recordings of one pair, by the costs of the first and of elsewhere.

    Raises: `UsageError` for other files, and for recordings of several pairs.
    """
    recording = joined([read(file) for file in files])
    traces, curves = recording.traces, {"here": recording.costs, **ELSEWHERE}
    results = {name: compare(traces, costs, screen.status) for name, costs in curves.items()}
    for line in lines(results["here"]):
        screen.line(line)
    for line in ("", "on other curves", *lines_by_curve(results), ""):
        screen.line(line)
    for line in lines_by_temperature(results):
        screen.line(line)
    if all(trace.trees for trace in traces):
        _trees(screen, traces, curves)
    if any(trace.paid for trace in traces):
        for line in cascades.lines(cascades.all_spared(traces, curves)):
            screen.line(line)
        screen.line("")
    screen.status("timing the controller")
    for line in lines_of_overhead(overheads(traces, curves)):
        screen.line(line)
    return 0


def _trees(screen: Screen, traces: Sequence[Trace], curves: Mapping[str, Measured]) -> None:
    """Trees and windows beside chains."""
    found = []
    for name, costs in curves.items():
        screen.status(f"replaying with the curve of {name}")
        found.append(branches.brought(name, traces, costs))
    screen.line("")
    for line in branches.lines(found, branches.tokens_per_step(traces)):
        screen.line(line)
    screen.line("")
    screen.status("replaying chains and trees of equal sizes")
    for line in nodes.lines(list(nodes.of_sizes(traces, curves))):
        screen.line(line)
    screen.line("")
