"""Where a peer is ahead of edgespec, in speed, first token or waiting, and why, as far as the
figures tell."""

from collections.abc import Iterator, Sequence

from edgespec.bench.engine import is_ours
from edgespec.bench.result import Result
from edgespec.bench.rivals import (
    LEVEL,
    Rivals,
    build_reasons,
    family,
    noise_of,
    rivals_of,
    within_noise,
)
from edgespec.bench.score import Score
from edgespec.bench.waits import shorter_waits


def ahead(result: Result) -> Iterator[str]:
    """Every cell in which a peer decoded faster than the best of edgespec's own arms; then, engine
    by engine, in which cells its first token came sooner or its reader waited less."""
    peers = [score for score in result.scores if not is_ours(score.arm)]
    for cell in rivals_of(result):
        by_engine: dict[str, list[Score]] = {}
        for peer in sorted(cell.peers, key=lambda s: -s.ratio):
            if peer.ratio > cell.ours.ratio:
                by_engine.setdefault(family(peer.arm), []).append(peer)
        for best, *others in by_engine.values():
            yield (
                f"ahead of edgespec: {best.arm} on {cell.where}: "
                f"{best.ratio:.2f} against {cell.ours.ratio:.2f} ({cell.ours.arm})"
                f"{_why_faster(result, best, cell)}{_also(others)}"
            )
    for engine in dict.fromkeys(family(peer.arm) for peer in peers):
        yield from shorter_waits(result, engine)
    if peers:
        yield ""


def _also(others: Sequence[Score]) -> str:
    """The same engine's other arms that are ahead."""
    told = ", ".join(f"{peer.arm.partition(':')[2]} {peer.ratio:.2f}" for peer in others)
    return f" (also {told})" if told else ""


def _why_faster(result: Result, peer: Score, cell: Rivals) -> str:
    ours, reasons = cell.ours, []
    plain = next((s for s in cell.everyone if s.arm == f"{family(peer.arm)}:plain"), None)
    if plain is not None and plain.ratio > LEVEL:
        which = "it decodes plainly, and that" if plain is peer else "its plain decoding"
        reasons.append(f"{which} is {plain.ratio:.2f} times as fast here")
        reasons += build_reasons(result, peer.arm)
    if peer.interval and ours.interval and peer.interval.low <= ours.interval.high:
        reasons.append("within the intervals of both")
    elif peer.ratio / ours.ratio <= noise_of(result):
        reasons.append(within_noise(result))
    if peer.acceptance and ours.acceptance and peer.acceptance > ours.acceptance + 0.05:
        reasons.append(
            f"it accepts {peer.acceptance:.0%} of its drafts, edgespec {ours.acceptance:.0%}"
        )
    if peer.differs_at is not None:
        reasons.append(f"its answer is another one from token {peer.differs_at + 1}")
    return "; " + ", ".join(reasons) if reasons else ""
