"""Where a peer is ahead of edgespec, in speed, first token or waiting, and why, as far as the
figures tell."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edgespec.bench.engine import PLAIN, is_ours
from edgespec.bench.result import Result
from edgespec.bench.rivals import (
    LEVEL,
    Rivals,
    build_reasons,
    family,
    named,
    noise_of,
    noise_told,
    rivals_of,
)
from edgespec.bench.score import Score, log_ratios
from edgespec.bench.waits import shorter_waits

_Kind = Literal["real", "noise", "single"]
_KINDS: tuple[_Kind, ...] = ("real", "noise", "single")
"""Of leads, the most certain first."""


def ahead(result: Result) -> Iterator[str]:
    """Every cell in which a peer decoded faster than the best of edgespec's own arms: one by one
    where no noise explains it, else in a line per engine. Then, engine by engine, in which cells
    its first token came sooner or its reader waited less."""
    peers = [score for score in result.scores if not is_ours(score.arm)]
    if not peers:
        return
    engines = tuple(dict.fromkeys(family(peer.arm) for peer in peers))
    found = [lead for cell in rivals_of(result) for lead in _leads(result, cell)]
    real = [lead for lead in found if lead.kind == "real"]
    yield from (_line(result, lead) for lead in real)
    if not real:
        yield "no peer is ahead of edgespec in any cell by more than the noise"
    for engine in engines:
        leads = [lead for lead in found if family(lead.best.arm) == engine]
        yield from _in_one_line(result, engine, leads)
    for engine in engines:
        yield from shorter_waits(result, engine)
    yield ""


@dataclass(frozen=True, slots=True)
class _Lead:
    """An engine's arms that are ahead in one cell."""

    cell: Rivals
    kind: _Kind
    arms: tuple[Score, ...]
    """Fastest first."""

    @property
    def best(self) -> Score:
        return self.arms[0]


def _leads(result: Result, cell: Rivals) -> Iterator[_Lead]:
    """Of every engine that is ahead, the leads of the most certain kind."""
    by_engine: dict[str, dict[_Kind, list[Score]]] = {}
    for peer in cell.peers:
        if peer.ratio > cell.ours.ratio:
            kinds = by_engine.setdefault(family(peer.arm), {})
            kinds.setdefault(_kind(result, cell, peer), []).append(peer)
    for kinds in by_engine.values():
        kind = next(kind for kind in _KINDS if kind in kinds)
        yield _Lead(cell, kind, tuple(kinds[kind]))


def _kind(result: Result, cell: Rivals, peer: Score) -> _Kind:
    if cell.is_single(peer):
        return "single"
    if peer.interval is None:
        return "real" if peer.ratio / cell.ours.ratio > noise_of(result) else "noise"
    # Plain decoding is what ratios are to: its own is 1 without any doubt.
    ours_high = cell.ours.interval.high if cell.ours.interval else cell.ours.ratio
    return "real" if peer.interval.low > ours_high else "noise"


def _line(result: Result, lead: _Lead) -> str:
    ours, (best, *others) = lead.cell.ours, lead.arms
    also = ", ".join(f"{peer.arm.partition(':')[2]} {peer.ratio:.2f}" for peer in others)
    return (
        f"ahead of edgespec: {best.arm} on {lead.cell.where}: {best.ratio:.2f} against "
        f"{ours.ratio:.2f} ({ours.arm}){_why_faster(result, best, lead.cell)}"
        f"{f' (also {also})' if also else ''}"
    )


def _why_faster(result: Result, peer: Score, cell: Rivals) -> str:
    ours, reasons = cell.ours, []
    plain = next((s for s in cell.everyone if s.arm == f"{family(peer.arm)}:plain"), None)
    if plain is not None and plain.ratio > LEVEL:
        which = "it decodes plainly, and that" if plain is peer else "its plain decoding"
        reasons.append(f"{which} is {plain.ratio:.2f} times as fast here")
        reasons += build_reasons(result, peer.arm)
    if peer.acceptance and ours.acceptance and peer.acceptance > ours.acceptance + 0.05:
        reasons.append(
            f"it accepts {peer.acceptance:.0%} of its drafts, edgespec {ours.acceptance:.0%}"
        )
    if peer.differs_at is not None:
        reasons.append(f"its answer is another one from token {peer.differs_at + 1}")
    return "; " + ", ".join(reasons) if reasons else ""


def _in_one_line(result: Result, engine: str, leads: Sequence[_Lead]) -> Iterator[str]:
    """What is ahead by no more than noise, and what had a single turn."""
    unsure = [lead for lead in leads if lead.kind == "noise"]
    if unsure:
        told = ", ".join(f"{_told(result, lead)}{_other(lead)})" for lead in unsure)
        yield f"ahead within the noise: {engine} on {told}; another run may turn that round"
    single = [lead for lead in leads if lead.kind == "single"]
    if single:
        told = ", ".join(
            f"{_told(result, lead)}, and {_then(lead):.2f} in that turn)" for lead in single
        )
        notes = {note.arm: note.build.note for note in result.arms}
        why = dict.fromkeys(filter(None, (notes[lead.best.arm] for lead in single)))
        told_why = "; ".join((*why, f"one turn has no interval, and {noise_told(result)}"))
        yield f"ahead in a single turn: {engine} on {told}; {told_why}"


def _told(result: Result, lead: _Lead) -> str:
    """The beginning of a cell's figures: "chat-short (plain 1.11, edgespec's auto 1.07"."""
    ours, best = lead.cell.ours, lead.best
    way = best.arm.partition(":")[2]
    where = named(result, lead.cell.cell)
    return f"{where} ({way} {best.ratio:.2f}, edgespec's {ours.arm} {ours.ratio:.2f}"


def _other(lead: _Lead) -> str:
    return "" if lead.best.differs_at is None else ", another answer"


def _then(lead: _Lead) -> float:
    """edgespec's ratio in the turn that the peer had."""
    cell = lead.cell.cell
    turns = tuple(turn for turn in cell.turns if lead.best.arm in {run.arm for run in turn})
    (log,) = log_ratios(replace(cell, turns=turns), lead.cell.ours.arm, PLAIN)
    return math.exp(log)
