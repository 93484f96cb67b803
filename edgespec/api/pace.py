"""How fast this model is on this machine: measured at its first loads, remembered for the next.

Owns the file it is remembered in. Each load spends at most two seconds; sizes that were not reached
are measured by the next one.
"""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from edgespec import paths
from edgespec.api.load import Loaded
from edgespec.api.samples import NOISY, Files, Samples, read, write
from edgespec.control.costs import Costs, Measured
from edgespec.core import Session
from edgespec.costs import UNMEASURED
from edgespec.engine.devices import devices
from edgespec.engine.fingerprint import cpu_identity, fingerprint, package_folder
from edgespec.engine.session import LlamaSession
from edgespec.gguf.header import GgufHeader
from edgespec.hardware.gpu import read_driver
from edgespec.plan.types import Placement

Clock = Callable[[], float]
_log = logging.getLogger(__name__)

PHASE = "measuring its speed, once"
"""What a person reads meanwhile."""
ROWS = (1, 4, 16, 8, 32, 2, 9, 64, 3, 17, 6, 12, 33, 5, 7, 24, 48)
"""Sizes of passes, the telling ones first: both sides of where backends change their kernels."""
_TELLING = 3
"""Sizes that are measured however slow the model is."""
_SWEEPS = 3
"""Each size is measured so often, sweep by sweep: other work then meets all sizes alike."""
BUDGET_S = 2.0
_BUDGET_UNDER_S = 1.0
"""For each draft model's curve."""
_READING = 0.3
"""Most of the budget that reading the context may take."""
_DEPTH = 512
"""Tokens of context before the pass, if they can be read in time."""
_LEAST_DEPTH = 64
_SLICE = 64
"""Tokens of context in a slice that a draft model reads."""


class _Sessions(NamedTuple):
    """A model, and what drafts for it with passes of its own."""

    session: LlamaSession
    draft_session: LlamaSession | None
    files: Files
    """Whose they are."""


def typical(loaded: Loaded) -> Costs:
    """A usual machine's costs, unmeasured and kept: the same drafts in every run."""
    return _assumed(has_draft=loaded.draft_session is not None)


def _assumed(*, has_draft: bool) -> Costs:
    assumed = Measured(UNMEASURED, 0.15, 0.01) if has_draft else Measured(UNMEASURED)
    return assumed.live(is_live=False)


def costs_under(loaded: Loaded, tell: Callable[[float], None], *, is_live: bool) -> list[Costs]:
    """Of the draft model's own passes and those of the models under it; measured if `is_live`."""
    if loaded.draft_session is None:
        return []
    sessions = [loaded.draft_session, *(lower.session for lower in loaded.lower)]
    found = []
    for at, (session, below) in enumerate(zip_longest(sessions, sessions[1:])):
        if not is_live:
            found.append(_assumed(has_draft=below is not None))
            continue
        kept = paths.cache_dir() / "pace" / f"{_key(loaded, at)}.json"
        pair = _Sessions(session, below, _names(_files(loaded)[at + 1 : at + 3]))
        found.append(_known(pair, kept, tell, perf_counter, _BUDGET_UNDER_S).live())
    return found


def measured(
    loaded: Loaded,
    tell: Callable[[float], None],
    clock: Clock = perf_counter,
    *,
    budget_s: float = BUDGET_S,
) -> Measured:
    """The remembered costs, or new ones, `tell` hearing the share done."""
    kept = paths.cache_dir() / "pace" / f"{_key(loaded)}.json"
    pair = _Sessions(loaded.session, loaded.draft_session, _names(_files(loaded)[:2]))
    return _known(pair, kept, tell, clock, budget_s)


def _known(
    sessions: _Sessions, kept: Path, tell: Callable[[float], None], clock: Clock, budget_s: float
) -> Measured:
    samples = read(kept)
    if not is_complete(samples, sessions.session):
        before = samples
        samples = _measure(sessions, samples, tell, clock, budget_s)
        is_noisy = samples.spread > NOISY
        _log.info("measured%s: %s", " on a busy machine" if is_noisy else "", samples)
        if before.seconds or not is_noisy:  # the least counts: more of them only make it better
            write(kept, samples, sessions.files)
    return samples.measured()


def experience_file(loaded: Loaded) -> Path:
    """Where it is kept what the pair's answers teach about drafters, whatever the machine."""
    draft = loaded.files.draft
    files = [loaded.files.target, *([draft] if draft else [])]
    name = hashlib.sha256(repr([_identity(f) for f in files]).encode()).hexdigest()[:32]
    return paths.state_dir() / "drafting" / f"{name}.json"


def is_complete(samples: Samples, session: Session) -> bool:
    """Whether every size was measured as often as it shall be."""
    return all(len(samples.seconds.get(n, ())) >= _SWEEPS for n in _sizes(session))


def _sizes(session: Session) -> list[int]:
    most = min(session.max_logits, session.n_ctx // 2)
    return [n for n in ROWS if n <= most]


def _measure(
    loaded: _Sessions,
    samples: Samples,
    tell: Callable[[float], None],
    clock: Clock,
    budget_s: float,
) -> Samples:
    """`samples` and what the budget adds to them."""
    began_s = clock()
    if loaded.draft_session is not None:
        samples = _of_draft(loaded.draft_session, samples, clock)
    session = loaded.session
    depth = _read_context(session, clock, began_s)
    _pass_s(session, depth, 1, clock)  # warms up
    if samples.seconds:
        plain_s = _pass_s(session, depth, 1, clock)
        if min(samples.seconds[1]) > NOISY * plain_s:
            samples = replace(samples, seconds={})  # those of a bad moment: begin anew
    sizes = _sizes(session)
    seconds = {n: list(samples.seconds.get(n, ())) for n in sizes}
    total, n_new = _SWEEPS * len(sizes), 0
    for sweep in range(_SWEEPS):
        for n in sizes:
            if len(seconds[n]) > sweep:
                continue
            is_known = all(seconds[m] for m in sizes[:_TELLING])
            if is_known and n_new and clock() - began_s > budget_s:
                if len(seconds[1]) == 1:  # was it a bad moment?
                    seconds[1].append(_pass_s(session, depth, 1, clock))
                return replace(samples, seconds=_frozen(seconds))
            seconds[n].append(_pass_s(session, depth, n, clock))
            n_new += 1
            tell(min(1.0, sum(map(len, seconds.values())) / total))
    return replace(samples, seconds=_frozen(seconds))


def _frozen(seconds: dict[int, list[float]]) -> dict[int, tuple[float, ...]]:
    return {n: tuple(taken) for n, taken in seconds.items() if taken}


def _of_draft(session: LlamaSession, samples: Samples, clock: Clock) -> Samples:
    """With a draft model's pass for one token, and for a token of context in a slice: the least
    of now and of earlier loads."""
    began_s = clock()
    share = 1 if samples.draft_s is None else 4  # a second look takes less of the budget
    depth = min(_LEAST_DEPTH // share, session.n_ctx // 4)
    session.forward(_tokens(session, depth), n_logits=0)
    _pass_s(session, depth, 1, clock)  # warms up
    n = min(_SLICE // share, session.n_ctx // 4)
    passes = [s for s in (samples.draft_s,) if s is not None]
    slices = [s for s in (samples.read_s,) if s is not None]
    for _ in range(_SWEEPS):
        passes.append(_pass_s(session, depth, 1, clock))
        slices.append(_pass_s(session, depth, n, clock, n_logits=0) / n)
        if clock() - began_s > _READING * BUDGET_S:
            break
    return replace(samples, draft_s=min(passes), read_s=min(slices))


def _read_context(session: LlamaSession, clock: Clock, began_s: float) -> int:
    """Make a context resident, as deep as time allows. Returns: its tokens."""
    goal = max(1, min(_DEPTH, session.n_ctx // 4))
    depth = min(_LEAST_DEPTH, goal)
    session.forward(_tokens(session, depth), n_logits=0)
    while depth < goal and clock() - began_s < _READING * BUDGET_S:
        depth = min(depth + session.n_batch, goal)
        session.forward(_tokens(session, depth), n_logits=0)
    return depth


def _pass_s(
    session: Session, depth: int, n_rows: int, clock: Clock, n_logits: int | None = None
) -> float:
    """Seconds of one pass over `n_rows` new rows behind `depth` tokens, each row fetched."""
    tokens = _tokens(session, depth + n_rows)
    session.forward(tokens[:depth], n_logits=0)
    began_s = clock()
    wanted = min(n_rows, session.max_logits) if n_logits is None else n_logits
    rows = session.forward(tokens, n_logits=wanted)
    for i in range(wanted):
        _ = rows[i][0]
    return clock() - began_s


def _tokens(session: Session, n: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Any tokens cost the same; different ones from row to row keep no kernel from its work."""
    return (np.arange(n) % min(session.n_vocab, 1000)).astype(np.int32)


def _key(loaded: Loaded, under: int | None = None) -> str:
    """A name for everything that the costs depend on; `under`: those of a draft model's passes."""
    files = [loaded.files.target, *([loaded.files.draft] if loaded.files.draft else [])]
    lower = [pair.draft for pair in loaded.files.lower if pair.draft is not None]
    package = package_folder()
    facts: list[object] = [
        fingerprint(package, cpu_identity()) if package else "",
        loaded.backend,
        loaded.n_threads,
        (_pace_of(loaded.plan.target), _pace_of(loaded.plan.draft)),
        [(device.name, device.description, device.total_bytes) for device in devices()],
        read_driver(),
        *(_identity(f) for f in files),
    ]
    if under is not None:
        facts += [under, [_pace_of(p) for p in loaded.plan.lower], *(_identity(f) for f in lower)]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _pace_of(placement: Placement | None) -> Placement | None:
    """What of a placement a pass's time depends on: room for more context than is read changes
    nothing, and follows the memory that happens to be free."""
    if placement is None:
        return None
    return replace(placement, n_ctx=min(placement.n_ctx, 4 * _DEPTH))


def _files(loaded: Loaded) -> list[GgufHeader]:
    """The target's file, its draft model's, and those under that one."""
    lower = [pair.draft for pair in loaded.files.lower]
    files = [loaded.files.target, loaded.files.draft, *lower]
    return [file for file in files if file is not None]


def _names(files: list[GgufHeader]) -> Files:
    return tuple((file.path.name, file.shape.size_bytes) for file in files)


def _identity(file: GgufHeader) -> tuple[str, int, int, str]:
    shape = file.shape
    return file.path.name, shape.size_bytes, shape.n_params, shape.quant
