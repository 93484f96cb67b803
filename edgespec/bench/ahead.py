"""Where a peer is ahead of edgespec, in speed, first token or waiting, and why, as far as the
figures tell."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from edgespec.bench.engine import OURS, PLAIN, is_ours
from edgespec.bench.latency import Latency
from edgespec.bench.measure import Cell
from edgespec.bench.result import Result
from edgespec.bench.score import Score

_LEVEL = 1.03
"""A ratio below it is no difference worth a reason."""
_MOST_NAMED = 4
_THEIR_PASS = 512
"""Tokens that llama.cpp reads in a pass unless told otherwise (n_ubatch), in every peer of its."""
_ON_OUR_LIBRARY = "llama-cpp-python:plain"


def ahead(result: Result) -> Iterator[str]:
    """Every cell in which a peer decoded faster than the best of edgespec's own arms; then, engine
    by engine, in which cells its first token came sooner or its reader waited less."""
    peers = [score for score in result.scores if not is_ours(score.arm)]
    for cell in _cells(result):
        for peer in sorted(cell.peers, key=lambda s: -s.ratio):
            if peer.ratio > cell.ours.ratio:
                yield (
                    f"ahead of edgespec: {peer.arm} on {cell.where}: "
                    f"{peer.ratio:.2f} against {cell.ours.ratio:.2f} ({cell.ours.arm})"
                    f"{_why_faster(result, peer, cell)}"
                )
    for engine in dict.fromkeys(_family(peer.arm) for peer in peers):
        yield from _sooner(result, engine)
        for metric in _WAITS:
            yield from _waits_less(result, engine, metric)
    if peers:
        yield ""


@dataclass(frozen=True, slots=True)
class _Scored:
    """One prompt at one temperature."""

    ours: Score
    """The fastest of edgespec's arms: the one that a user would take."""
    everyone: tuple[Score, ...]

    @property
    def peers(self) -> tuple[Score, ...]:
        return tuple(score for score in self.everyone if not is_ours(score.arm))

    @property
    def where(self) -> str:
        return f"{self.ours.prompt} at temperature {self.ours.temperature:g}"


def _cells(result: Result) -> Iterator[_Scored]:
    for key in dict.fromkeys((s.prompt, s.temperature) for s in result.scores):
        found = tuple(s for s in result.scores if (s.prompt, s.temperature) == key)
        ours = max((s for s in found if is_ours(s.arm)), key=lambda s: s.ratio)
        yield _Scored(ours, found)


def _family(arm: str) -> str:
    return arm.partition(":")[0]


def _why_faster(result: Result, peer: Score, cell: _Scored) -> str:
    ours, reasons = cell.ours, []
    plain = next((s for s in cell.everyone if s.arm == f"{_family(peer.arm)}:plain"), None)
    if plain is not None and plain.ratio > _LEVEL:
        which = "it decodes plainly, and that" if plain is peer else "its plain decoding"
        reasons.append(f"{which} is {plain.ratio:.2f} times as fast here")
        reasons += _build_reasons(result, peer.arm)
    if peer.interval and ours.interval and peer.interval.low <= ours.interval.high:
        reasons.append("within the intervals of both")
    elif peer.ratio / ours.ratio <= _noise(result):
        reasons.append(_within_noise(result))
    if peer.acceptance and ours.acceptance and peer.acceptance > ours.acceptance + 0.05:
        reasons.append(
            f"it accepts {peer.acceptance:.0%} of its drafts, edgespec {ours.acceptance:.0%}"
        )
    if peer.differs_at is not None:
        reasons.append(f"its answer is another one from token {peer.differs_at + 1}")
    return "; " + ", ".join(reasons) if reasons else ""


@dataclass(frozen=True, slots=True)
class _Lead:
    """What a peer is better in, in one cell; smaller is better."""

    peer: Score
    cell: _Scored
    theirs: float
    ours: float


def _leads(
    result: Result, engine: str, of: Callable[[Score], float | None]
) -> tuple[list[_Lead], int]:
    """The cells in which the best of an engine's arms leads, widest first, and of how many."""
    leads, n = [], 0
    for cell in _cells(result):
        ours = of(cell.ours)
        found = [(s, of(s)) for s in cell.peers if _family(s.arm) == engine]
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
    if lead.ours / lead.theirs <= _noise(result):
        return _within_noise(result)
    n_batch = int(result.plan.get("target", {}).get("n_batch", _THEIR_PASS))
    reasons = []
    if cell.prompt_tokens > n_batch and n_batch < _THEIR_PASS:
        reasons.append(
            f"edgespec reads at most {n_batch} tokens in a pass, so that a stop is quick, and "
            f"llama.cpp {_THEIR_PASS} unless told otherwise"
        )
        same = cell.ttft_s.get(_ON_OUR_LIBRARY)
        if same is not None and same * _LEVEL > lead.ours:
            reasons[0] += (
                f" (which is not what costs here: {_ON_OUR_LIBRARY}, on edgespec's own library, "
                f"takes {same:.2f} s)"
            )
    reasons += _build_reasons(result, lead.peer.arm)
    return (
        ", ".join(reasons) or "its build and edgespec's say the same of themselves: not known why"
    )


def _build_reasons(result: Result, arm: str) -> list[str]:
    builds = {note.arm: note.build for note in result.arms}
    ours, theirs = builds[PLAIN], builds[arm]
    if more := sorted(set(theirs.features) - set(ours.features)):
        return [f"its build has {' '.join(more)}"]
    if theirs.n_threads != ours.n_threads and theirs.n_threads is not None:
        return [f"it takes {theirs.n_threads} threads, edgespec {ours.n_threads}"]
    if _family(arm) != _family(_ON_OUR_LIBRARY):
        return [f"it is another build of llama.cpp ({theirs.version})"]
    return []


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
    if lead.ours / lead.theirs <= _noise(result):
        return _within_noise(result)
    ours, reasons = lead.cell.ours, []
    runs = _measured(result, lead).runs(ours.arm)
    if wait.is_of_long_passes and any(run.stats and run.stats.drafted for run in runs):
        reasons.append(
            "a pass over a draft takes longer than a plain step, and its tokens come at once"
        )
    if lead.peer.ratio > ours.ratio * _LEVEL:
        reasons.append(f"it is faster here ({lead.peer.ratio:.2f} against {ours.ratio:.2f})")
    elif not wait.is_of_long_passes:
        reasons.append(
            f"its speed comes in fewer, longer gaps or later ({lead.peer.ratio:.2f} against "
            f"{ours.ratio:.2f} times plain in all)"
        )
    return ", ".join(reasons) or "single waits: whatever else the machine did meanwhile"


def _noise(result: Result) -> float:
    """How far turns of plain decoding are apart, as a ratio."""
    speeds = [[run.tokens_per_s for run in cell.runs(PLAIN)] for cell in result.cells]
    ratios = [max(found) / min(found) for found in speeds if len(found) > 1]
    return median(ratios) if ratios else 1.0


def _within_noise(result: Result) -> str:
    return f"plain decoding of one prompt differs by {_noise(result) - 1:.0%} from turn to turn"


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
