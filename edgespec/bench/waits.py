"""Where a peer's reader waits less, for the first token or for the next, and why, as far as the
figures tell."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from edgespec.bench.engine import OURS
from edgespec.bench.latency import Latency
from edgespec.bench.measure import Cell
from edgespec.bench.result import Result
from edgespec.bench.rivals import (
    LEVEL,
    ON_OUR_LIBRARY,
    Rivals,
    build_reasons,
    family,
    noise_of,
    rivals_of,
    within_noise,
)
from edgespec.bench.score import Score

_MOST_NAMED = 4
_THEIR_PASS = 512
"""Tokens that llama.cpp reads in a pass unless told otherwise (n_ubatch), in every peer of its."""


def shorter_waits(result: Result, engine: str) -> Iterator[str]:
    """A line for each figure in which the best of an engine's arms leads in some cell."""
    yield from _sooner(result, engine)
    for wait in _WAITS:
        yield from _waits_less(result, engine, wait)


@dataclass(frozen=True, slots=True)
class _Lead:
    """What a peer is better in, in one cell; smaller is better."""

    peer: Score
    cell: Rivals
    theirs: float
    ours: float


def _leads(
    result: Result, engine: str, of: Callable[[Score], float | None]
) -> tuple[list[_Lead], int]:
    """The cells in which the best of an engine's arms leads, widest first, and of how many."""
    leads, n = [], 0
    for cell in rivals_of(result):
        ours = of(cell.ours)
        found = [(s, of(s)) for s in cell.peers if family(s.arm) == engine]
        told = [(s, value) for s, value in found if value is not None and not math.isnan(value)]
        if ours is None or not told:
            continue
        n += 1
        peer, theirs = min(told, key=lambda pair: pair[1])
        if theirs < ours:
            leads.append(_Lead(peer, cell, theirs, ours))
    return sorted(leads, key=lambda lead: lead.theirs / lead.ours), n


def _sooner(result: Result, engine: str) -> Iterator[str]:
    leads, n = _leads(result, engine, lambda score: score.ttft_s)
    if leads:
        widest = leads[0]
        yield (
            f"sooner first token: {engine} {_in_cells(leads, n)}: {widest.theirs:.2f} against "
            f"{widest.ours:.2f} s; {_why_sooner(result, widest)}"
        )


def _why_sooner(result: Result, lead: _Lead) -> str:
    cell = _measured(result, lead)
    readings = [cell.readings_s.get(name, ()) for name in (OURS, lead.peer.arm)]
    if all(len(found) > 1 for found in readings) and max(readings[1]) >= min(readings[0]):
        return "within what readings of the same prompt differ by"
    if lead.ours / lead.theirs <= noise_of(result):
        return within_noise(result)
    n_batch = int(result.plan.get("target", {}).get("n_batch", _THEIR_PASS))
    reasons = []
    if cell.prompt_tokens > n_batch and n_batch < _THEIR_PASS:
        reasons.append(
            f"edgespec reads at most {n_batch} tokens in a pass, so that a stop is quick, and "
            f"llama.cpp {_THEIR_PASS} unless told otherwise"
        )
        same = cell.ttft_s.get(ON_OUR_LIBRARY) if _is_our_library(result) else None
        if same is not None and same * LEVEL > lead.ours:
            reasons[0] += (
                f" (which is not what costs here: {ON_OUR_LIBRARY}, on edgespec's own library, "
                f"takes {same:.2f} s)"
            )
    reasons += build_reasons(result, lead.peer.arm)
    return (
        ", ".join(reasons) or "its build and edgespec's say the same of themselves: not known why"
    )


@dataclass(frozen=True, slots=True)
class _Wait:
    """A figure of `Latency`, as it is told."""

    told: str
    of: Callable[[Latency], float]
    is_of_long_passes: bool
    """Rather than of how fast most tokens come."""


_WAITS = (
    _Wait("less per token in the median", lambda found: found.median_ms, is_of_long_passes=False),
    _Wait("less per token at the 95th percentile", lambda found: found.p95_ms, True),
    _Wait("less per token at the 99th percentile", lambda found: found.p99_ms, True),
    _Wait("a shorter worst gap", lambda found: found.worst_gap_ms, is_of_long_passes=True),
)


def _waits_less(result: Result, engine: str, wait: _Wait) -> Iterator[str]:
    leads, n = _leads(
        result, engine, lambda score: wait.of(score.latency) if score.latency else None
    )
    if leads:
        widest = leads[0]
        yield (
            f"{wait.told}: {engine} {_in_cells(leads, n)}: {widest.theirs:.0f} against "
            f"{widest.ours:.0f} ms ({widest.cell.ours.arm}); {_why_less(result, widest, wait)}"
        )


def _why_less(result: Result, lead: _Lead, wait: _Wait) -> str:
    if lead.ours / lead.theirs <= noise_of(result):
        return within_noise(result)
    ours, reasons = lead.cell.ours, []
    runs = _measured(result, lead).runs(ours.arm)
    if wait.is_of_long_passes and any(run.stats and run.stats.drafted for run in runs):
        reasons.append(
            "a pass over a draft takes longer than a plain step, and its tokens come at once"
        )
    if lead.peer.ratio > ours.ratio * LEVEL:
        reasons.append(f"it is faster here ({lead.peer.ratio:.2f} against {ours.ratio:.2f})")
    elif not wait.is_of_long_passes:
        reasons.append(
            f"its speed comes in fewer, longer gaps or later ({lead.peer.ratio:.2f} against "
            f"{ours.ratio:.2f} times plain in all)"
        )
    return ", ".join(reasons) or "single waits: whatever else the machine did meanwhile"


def _is_our_library(result: Result) -> bool:
    versions = {note.arm: note.build.version for note in result.arms}
    return versions.get(ON_OUR_LIBRARY) == result.versions.get("llama-cpp-python")


def _measured(result: Result, lead: _Lead) -> Cell:
    key = lead.peer.prompt, lead.peer.temperature
    return next(cell for cell in result.cells if (cell.prompt, cell.temperature) == key)


def _in_cells(leads: Sequence[_Lead], n: int) -> str:
    widest, names = leads[0], list(dict.fromkeys(lead.peer.prompt for lead in leads))
    where = f"on {widest.cell.where} with {widest.peer.arm}"
    if len(leads) == 1:
        return f"in 1 of {n} cells, {where}"
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"in {len(leads)} of {n} cells ({', '.join(names[:_MOST_NAMED])}{more}), most {where}"
