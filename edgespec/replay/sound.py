"""Whether what was read can be replayed: numbers where numbers belong, and one for each position.

A recording that was cut or edited would otherwise end a replay somewhere in its middle.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from edgespec.drafters import DRAFTERS
from edgespec.replay.grown import Grown

if TYPE_CHECKING:
    from edgespec.replay.trace import PaidTrace, Proposal, Trace


def check_costs(found: Mapping[str, Any]) -> None:
    """The passes of a recording's JSON. Raises: `ValueError`, `LookupError`, `TypeError`."""
    rows, seconds = found["rows"], found["seconds"]
    is_ascending = all(map(_is_whole, rows)) and sorted(set(rows)) == rows and rows[0] == 1
    if not rows or not is_ascending or len(rows) != len(seconds):
        raise ValueError(f"passes of {rows!r} rows took {seconds!r} s")
    beside = [found[name] for name in ("draft_s", "read_s") if found[name] is not None]
    if (
        not all(map(_is_number, (*seconds, *beside)))
        or min(seconds) <= 0
        or min(beside, default=0) < 0
    ):
        raise ValueError(f"passes took {seconds!r} s, a draft model's {beside!r} s")


def check(trace: "Trace") -> None:
    """One answer. Raises: `ValueError`, `TypeError`."""
    if not (isinstance(trace.prompt, str) and _is_number(trace.temperature)):
        raise ValueError(f"an answer to {trace.prompt!r} at {trace.temperature!r}")
    sizes = (trace.n_tokens, trace.prompt_tokens)
    if not all(map(_is_whole, sizes)):
        raise ValueError(f"{trace.name}: {sizes} tokens")
    lengths = {len(one) for one in _by_position(trace)} - {trace.n_tokens}
    if lengths:
        raise ValueError(f"{trace.name}: {lengths} positions of an answer of {trace.n_tokens}")
    is_sound = (
        all(_is_proposal(one) for proposals in trace.free.values() for one in proposals)
        and all(map(_is_paid, trace.paid.values()))
        and all(map(_is_grown, trace.trees))
        and all(_is_whole(n) for right in trace.windows.values() for n in right)
    )
    if not is_sound:
        raise ValueError(f"{trace.name}: not all that was counted are numbers")


def _by_position(trace: "Trace") -> Iterator[Sequence[object]]:
    yield from trace.free.values()
    yield from trace.windows.values()
    if trace.trees:
        yield trace.trees
    for paid in trace.paid.values():
        yield paid.accepted
        yield paid.confidence
        for backing in paid.backing.values():
            yield backing.probs
            yield backing.is_drawn


def _is_proposal(one: "Proposal") -> bool:
    return _is_whole(one.accepted) and all(map(_is_whole, one.buckets))


def _is_paid(paid: "PaidTrace") -> bool:
    sure = [paid.confidence, *paid.astray.values(), *(b.probs for b in paid.backing.values())]
    return all(_is_number(one) for some in sure for one in some)


def _is_grown(grown: Grown) -> bool:
    counts = [*grown.accepted, *(way.leaves for way in grown.ways)]
    kinds = [kind for way in grown.ways for kind in way.kinds]
    return all(map(_is_whole, counts)) and all(
        isinstance(name, str) and name in DRAFTERS and _is_whole(bucket) for name, bucket in kinds
    )


def _is_whole(n: object) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and n >= 0


def _is_number(n: object) -> bool:
    return isinstance(n, int | float) and not isinstance(n, bool) and isfinite(n)
