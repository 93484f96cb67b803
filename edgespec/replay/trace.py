"""Recorded answers as data: no text, only kinds of proposals and what became of them.

One file holds many traces and the costs of the machine that recorded them.
"""

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edgespec.control.costs import Measured
from edgespec.costs import PassCosts
from edgespec.errors import UsageError
from edgespec.replay.grown import Grown, from_json, runs, to_json, unrolled
from edgespec.replay.sound import check, check_costs

VERSION = 1
_DAMAGED = (
    OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, RecursionError,
    zlib.error,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a free drafter would have drafted at one position."""

    buckets: tuple[int, ...]
    """Of its tokens, in order."""
    accepted: int
    """Leading tokens that the answer went on with."""


@dataclass(frozen=True, slots=True)
class Backing:
    """What a draft model says of the first token that a free drafter proposes, by position."""

    probs: tuple[float, ...]
    """How likely it finds it, in the sense of its own confidence; 0 where nothing is proposed."""
    is_drawn: tuple[bool, ...]
    """Whether it is the very token that it would have drafted itself."""


@dataclass(frozen=True, slots=True)
class PaidTrace:
    """What a draft model would have drafted, token by token."""

    accepted: tuple[bool, ...]
    """accepted[t]: its token for position t of the answer, given the answer before, is accepted."""
    confidence: tuple[float, ...]
    """How sure it was of that token."""
    astray: dict[int, tuple[float, ...]]
    """After a position whose token is refused: how sure it was of those it would go on with."""
    backing: dict[str, Backing] = field(default_factory=dict)
    """By free drafter that looks things up; empty: not recorded."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One answer."""

    prompt: str
    """The prompt's name."""
    temperature: float
    prompt_tokens: int
    n_tokens: int
    """Of the answer."""
    free: dict[str, tuple[Proposal, ...]]
    """By drafter, one proposal for every position."""
    paid: dict[str, PaidTrace]
    tokens: tuple[int, ...] | None = None
    """Prompt and answer, where they were asked to be kept."""
    trees: tuple[Grown, ...] = ()
    """What the tree drafter would have drafted, for every position; empty: not recorded."""
    windows: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By nodes of lookahead's shapes: tokens that its ways had right at each position; empty: no
    window was run."""

    @property
    def name(self) -> str:
        """For a table."""
        return f"{self.prompt} at {self.temperature:g}"


@dataclass(frozen=True, slots=True)
class Recording:
    """Traces of one pair on one machine."""

    target: str
    draft: str | None
    costs: Measured
    traces: tuple[Trace, ...]


def write(recording: Recording, path: Path) -> None:
    """Write as JSON, compressed where the name ends with ".gz"."""
    text = json.dumps(_to_json(recording), separators=(",", ":"))
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def read(path: Path) -> Recording:
    """Read what `write` wrote. Raises: `UsageError` for another file."""
    try:
        data = path.read_bytes()
        found = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        if found["version"] != VERSION:
            raise UsageError(
                f"{path.name} is a recording of version {found['version']}, not {VERSION}",
                hint="record it again: edgespec bench --record FILE",
            )
        check_costs(found)
        recording = _from_json(found)
        if not recording.traces:
            raise ValueError("it holds no answer")
        for trace in recording.traces:
            check(trace)
        return recording
    except _DAMAGED as error:
        raise UsageError(
            f"{path.name} is not a recording: {error}",
            hint="make one: edgespec bench -t MODEL --record FILE",
        ) from error


def joined(recordings: Sequence[Recording]) -> Recording:
    """As one, with the costs of the first. Raises: `UsageError` if they are of several pairs."""
    first = recordings[0]
    for other in recordings[1:]:
        if (other.target, other.draft) != (first.target, first.draft):
            raise UsageError(
                f"the recordings are of {_pair(first)} and of {_pair(other)}",
                hint="replay those of one pair at a time",
            )
    return replace(first, traces=tuple(trace for one in recordings for trace in one.traces))


def _pair(recording: Recording) -> str:
    if recording.draft is None:
        return recording.target
    return f"{recording.target} with {recording.draft}"


def _to_json(recording: Recording) -> dict[str, Any]:
    costs = recording.costs
    return {
        "version": VERSION,
        "target": recording.target,
        "draft": recording.draft,
        "rows": costs.target.rows,
        "seconds": costs.target.seconds,
        "draft_s": costs.draft_s,
        "read_s": costs.read_s,
        "traces": [_trace_to_json(trace) for trace in recording.traces],
    }


def _from_json(found: dict[str, Any]) -> Recording:
    curve = PassCosts(tuple(found["rows"]), tuple(found["seconds"]))
    return Recording(
        found["target"],
        found["draft"],
        Measured(curve, found["draft_s"], found["read_s"]),
        tuple(_trace_from_json(trace) for trace in found["traces"]),
    )


def _trace_to_json(trace: Trace) -> dict[str, Any]:
    out: dict[str, Any] = {
        "prompt": trace.prompt,
        "temperature": trace.temperature,
        "prompt_tokens": trace.prompt_tokens,
        "n_tokens": trace.n_tokens,
        "free": {
            name: [[p.accepted, *runs(p.buckets)] for p in proposals]
            for name, proposals in trace.free.items()
        },
        "paid": {
            name: {
                "accepted": "".join("01"[a] for a in paid.accepted),
                "confidence": paid.confidence,
                "astray": {str(at): sure for at, sure in paid.astray.items()},
                **_backing_to_json(paid.backing),
            }
            for name, paid in trace.paid.items()
        },
    }
    if trace.tokens is not None:
        out["tokens"] = trace.tokens
    if trace.trees:
        out["trees"] = [to_json(grown) for grown in trace.trees]
    if trace.windows:
        out["windows"] = {str(n): right for n, right in trace.windows.items()}
    return out


def _backing_to_json(backing: dict[str, Backing]) -> dict[str, Any]:
    if not backing:
        return {}
    drawn = {name: "".join("01"[a] for a in found.is_drawn) for name, found in backing.items()}
    return {"backing": {name: [found.probs, drawn[name]] for name, found in backing.items()}}


def _trace_from_json(found: dict[str, Any]) -> Trace:
    tokens = found.get("tokens")
    return Trace(
        prompt=found["prompt"],
        temperature=found["temperature"],
        prompt_tokens=found["prompt_tokens"],
        n_tokens=found["n_tokens"],
        free={
            name: tuple(Proposal(unrolled(p[1:]), p[0]) for p in proposals)
            for name, proposals in found["free"].items()
        },
        paid={
            name: PaidTrace(
                tuple(a == "1" for a in paid["accepted"]),
                tuple(paid["confidence"]),
                {int(at): tuple(sure) for at, sure in paid["astray"].items()},
                {
                    drafter: Backing(tuple(probs), tuple(a == "1" for a in drawn))
                    for drafter, (probs, drawn) in paid.get("backing", {}).items()
                },
            )
            for name, paid in found["paid"].items()
        },
        tokens=None if tokens is None else tuple(tokens),
        trees=tuple(from_json(grown) for grown in found.get("trees", ())),
        windows={int(n): tuple(right) for n, right in found.get("windows", {}).items()},
    )
