"""Where speculation stops paying, as more people read at once: figures of a result in words."""

import math
from collections.abc import Iterator, Mapping

from edgespec.bench.engine import PLAIN, is_ours
from edgespec.bench.result import Result
from edgespec.bench.streams import StreamScore

_NOISE = 1.02
"""A gain below it is none, whatever an interval says."""
_Levels = Mapping[int, StreamScore]


def paying(result: Result) -> Iterator[str]:
    """For every arm with drafts how far it pays, and from where on decoding together pays more."""
    by_arm: dict[str, dict[int, StreamScore]] = {}
    for score in result.streams:
        by_arm.setdefault(score.arm, {})[score.n_streams] = score
    for arm, levels in by_arm.items():
        own = by_arm.get(PLAIN if is_ours(arm) else arm.partition(":")[0] + ":plain")
        if own is not None and own is not levels:
            yield _line(arm, levels, own)
    ours = {arm: levels for arm, levels in by_arm.items() if is_ours(arm)}
    together = {
        arm: levels
        for arm, levels in by_arm.items()
        if any(score.is_batched for score in levels.values())
    }
    if together:
        yield from _against(ours, together)
    elif ours:
        yield from _by_the_curve(result, ours)


def _line(arm: str, levels: _Levels, own: _Levels) -> str:
    gains = {n: s.tokens_per_s / own[n].tokens_per_s for n, s in levels.items() if n in own}
    told = ", ".join(f"{gain:.2f} with {n}" for n, gain in gains.items())
    is_batched = any(score.is_batched for score in levels.values())
    why = (
        "the rows of a draft come on top of those of the other readers"
        if is_batched
        else "answers queue, so a draft has the machine to itself whatever the number"
    )
    verdict = _verdict({n: _pays(levels[n], gain) for n, gain in gains.items()})
    return f"{arm}: times its engine's plain decoding {told} readers; {verdict} ({why})"


def _pays(score: StreamScore, gain: float) -> bool | None:
    """Whether a gain is one; None where noise may be all of it."""
    if score.interval is None:
        return gain >= _NOISE
    noise = _noise(score)
    return True if gain > noise else False if gain * noise < 1 else None


def _noise(*scores: StreamScore) -> float:
    """How far the ratios of these may be off, together, as a ratio."""
    known = [score.interval for score in scores if score.interval is not None]
    return max(_NOISE, math.exp(math.hypot(*(math.log(i.high / i.low) / 2 for i in known))))


def _verdict(pays: Mapping[int, bool | None]) -> str:
    kinds = {
        pay: " or ".join(str(n) for n, found in pays.items() if found is pay)
        for pay in (True, False, None)
    }
    said = set(pays.values())
    if said == {True}:
        return "it pays at all of them"
    if said == {False}:
        return "it pays at none of them on these prompts"
    if said == {None}:
        return "all of that is within the noise"
    parts = [f"it does not pay with {kinds[False]}"] if kinds[False] else []
    if kinds[None]:
        parts += [f"it pays with {kinds[True]}"] if kinds[True] and not parts else []
        parts.append(f"with {kinds[None]} that is within the noise")
    return ", ".join(parts)


def _against(ours: Mapping[str, _Levels], together: Mapping[str, _Levels]) -> Iterator[str]:
    """From where on an engine that decodes answers together is faster than one that queues them."""
    several = sorted({n for levels in ours.values() for n in levels if n > 1})
    for n in several:
        best, rival = _best(ours, n), _best(together, n)
        if best and rival and _is_ahead(rival, best):
            yield (
                f"with {n} readers {rival.arm} is ahead, {rival.tokens_per_s:.1f} against "
                f"{best.tokens_per_s:.1f} tokens per second of {best.arm} in all: it decodes "
                "answers together, edgespec one by one"
            )
            return
    if several:
        yield (
            "no engine that decodes answers together was ahead of edgespec, which queues them, by "
            "more than the noise"
        )


def _is_ahead(rival: StreamScore, ours: StreamScore) -> bool:
    return rival.tokens_per_s > _noise(rival, ours) * ours.tokens_per_s


def _by_the_curve(result: Result, ours: Mapping[str, _Levels]) -> Iterator[str]:
    """The same from what passes cost, where no engine here decodes together."""
    costs = result.pass_costs
    levels = sorted({n for found in ours.values() for n in found})
    worth = {n: n * costs.plain_s / costs.of(n) for n in levels}
    told = ", ".join(f"{gain:.2f} with {n}" for n, gain in worth.items())
    yield (
        f"by the passes measured here, decoding the answers together without drafts would give "
        f"{told} readers, times one reader's plain speed"
    )
    for n in levels[levels[0] == 1 :]:
        best = _best(ours, n)
        if best and worth[n] > _NOISE * best.ratio:
            yield (
                f"from {n} readers on that is more than drafts bring one by one "
                f"({best.arm}: {best.ratio:.2f}): there speculation stops paying"
            )
            return
    yield "that is never more than drafts bring one by one: speculation pays at all of these"


def _best(arms: Mapping[str, _Levels], n: int) -> StreamScore | None:
    found = [levels[n] for levels in arms.values() if n in levels]
    return max(found, key=lambda score: score.tokens_per_s, default=None)
