"""Where a peer's reader waits less, for the first token or for the next, and why, as far as the
figures tell."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from edgespec.bench.engine import OURS
from edgespec.bench.latency import Latency
from edgespec.bench.result import Result
from edgespec.bench.rivals import (
    LEVEL,
    ON_OUR_LIBRARY,
    Rivals,
    build_reasons,
    is_served,
    named,
    noise_of,
    rivals_of,
    turns_apart,
)
from edgespec.bench.score import Score

_MOST_NAMED = 4
_THEIR_PASS = 512
"""Tokens that llama.cpp reads in a pass unless told otherwise (n_ubatch), in every peer of its."""


@dataclass(frozen=True, slots=True)
class _Lead:
    """What a peer is better in, in one cell; smaller is better."""

    peer: Score
    cell: Rivals
    theirs: float
    ours: float


@dataclass(frozen=True, slots=True)
class _Figure:
    """A wait, as it is told."""

    told: str
    of: Callable[[Score], float | None]
    shown: Callable[[float, float], str]
    """Theirs against ours."""
    why: Callable[[Result, _Lead], str]


@dataclass(frozen=True, slots=True)
class _Leads:
    """The cells in which an engine leads."""

    beyond: tuple[_Lead, ...]
    """By more than noise; the widest lead first."""
    n_within: int
    """By no more than that."""
    n: int
    """Cells in all."""


def shorter_waits(result: Result, engine: str) -> Iterator[str]:
    """A line for each figure in which an engine leads by more than noise, and one for the rest.

    Its fastest arm is held against the fastest of edgespec's: the best of many arms in a figure
    would lead by luck alone.
    """
    rest = []
    for figure in _FIGURES:
        leads = _leads(result, engine, figure)
        if leads.beyond:
            widest = leads.beyond[0]
            # All of edgespec's arms read alike.
            arm = "" if figure is _FIRST else f" ({widest.cell.ours.arm})"
            yield (
                f"{figure.told}: {engine} {_in_cells(result, leads)}: "
                f"{figure.shown(widest.theirs, widest.ours)}{arm}; "
                f"{figure.why(result, widest)}"
            )
        elif leads.n_within:
            rest.append(f"{figure.told} in {leads.n_within} of {leads.n} cells")
    if rest:
        known = (
            "within the noise" if turns_apart(result) else "of no turn repeated, so noise or not"
        )
        yield f"{known}: {engine} has a {', a '.join(rest)}"


def _leads(result: Result, engine: str, figure: _Figure) -> _Leads:
    leads, n = [], 0
    for cell in rivals_of(result):
        peer, ours = cell.best_of(engine), figure.of(cell.ours)
        theirs = None if peer is None else figure.of(peer)
        if peer is None or theirs is None or ours is None or math.isnan(theirs):
            continue
        n += 1
        if theirs < ours:
            leads.append(_Lead(peer, cell, theirs, ours))
    beyond = [lead for lead in leads if not _is_noise(result, lead, figure)]
    widest_first = tuple(sorted(beyond, key=lambda lead: lead.theirs / lead.ours))
    return _Leads(widest_first, len(leads) - len(beyond), n)


def _is_noise(result: Result, lead: _Lead, figure: _Figure) -> bool:
    if lead.ours / lead.theirs <= noise_of(result) or not turns_apart(result):
        return True
    known = lead.cell.cell.readings_s
    ours, theirs = (known.get(name, ()) for name in (OURS, lead.peer.arm))
    is_known = figure is _FIRST and len(ours) > 1 and len(theirs) > 1
    return is_known and max(theirs) >= min(ours)


def _why_sooner(result: Result, lead: _Lead) -> str:
    cell = lead.cell.cell
    n_batch = int(result.plan.get("target", {}).get("n_batch", _THEIR_PASS))
    reasons = []
    if n_batch < min(cell.prompt_tokens, _THEIR_PASS) and not is_served(result, lead.peer.arm):
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


def _is_our_library(result: Result) -> bool:
    versions = {note.arm: note.build.version for note in result.arms}
    return versions.get(ON_OUR_LIBRARY) == result.versions.get("llama-cpp-python")


def _why_shorter(result: Result, lead: _Lead) -> str:
    """Of waits that long passes make."""
    runs = lead.cell.cell.runs(lead.cell.ours.arm)
    if any(run.stats and run.stats.drafted for run in runs):
        reason = "a pass over a draft takes longer than a plain step, and its tokens come at once"
        return f"{reason}, {_faster(lead)}" if _faster(lead) else reason
    return _faster(lead) or "single waits: whatever else the machine did meanwhile"


def _why_less(result: Result, lead: _Lead) -> str:
    """Of how fast most tokens come."""
    return _faster(lead) or (
        f"its speed comes in fewer, longer gaps or later ({lead.peer.ratio:.2f} against "
        f"{lead.cell.ours.ratio:.2f} times plain in all)"
    )


def _faster(lead: _Lead) -> str:
    theirs, ours = lead.peer.ratio, lead.cell.ours.ratio
    is_faster = theirs > ours * LEVEL
    return f"it is faster here ({theirs:.2f} against {ours:.2f})" if is_faster else ""


def _in_cells(result: Result, leads: _Leads) -> str:
    widest, *others = leads.beyond
    where = f"on {widest.cell.where} with {widest.peer.arm}"
    within = f", and within the noise in {leads.n_within} more" if leads.n_within else ""
    if not others:
        return f"in 1 of {leads.n} cells{within}, {where}"
    names = [named(result, lead.cell.cell) for lead in leads.beyond]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    told = ", ".join(names[:_MOST_NAMED]) + more
    return f"in {len(names)} of {leads.n} cells ({told}){within}, most {where}"


def _seconds(theirs: float, ours: float) -> str:
    return f"{theirs:.2f} against {ours:.2f} s"


def _milliseconds(theirs: float, ours: float) -> str:
    return f"{theirs:.0f} against {ours:.0f} ms"


def _of_latency(part: Callable[[Latency], float]) -> Callable[[Score], float | None]:
    return lambda score: part(score.latency) if score.latency else None


_FIRST = _Figure("sooner first token", lambda score: score.ttft_s, _seconds, _why_sooner)
_FIGURES: Sequence[_Figure] = (
    _FIRST,
    _Figure("lower median per token", _of_latency(lambda found: found.median_ms), _milliseconds,
            _why_less),
    _Figure("lower 95th percentile per token", _of_latency(lambda found: found.p95_ms),
            _milliseconds, _why_shorter),
    _Figure("lower 99th percentile per token", _of_latency(lambda found: found.p99_ms),
            _milliseconds, _why_shorter),
    _Figure("shorter worst gap", _of_latency(lambda found: found.worst_gap_ms), _milliseconds,
            _why_shorter),
)  # fmt: skip
