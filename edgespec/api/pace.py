"""How fast this model is on this machine: measured at its first load, remembered for the next.

Owns the file it is remembered in. A measurement is wrong while the machine does other work, so the
least of several is kept: other work only ever adds time.
"""

import hashlib
import json
import logging
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

import numpy as np

from edgespec import paths
from edgespec.api.files import Files
from edgespec.api.load import Loaded
from edgespec.control import Costs
from edgespec.core import Session
from edgespec.costs import UNMEASURED, PassCosts
from edgespec.engine.fingerprint import cpu_identity, fingerprint, package_folder
from edgespec.gguf.header import GgufHeader

Clock = Callable[[], float]
_log = logging.getLogger(__name__)

PHASE = "measuring its speed, once"
"""What a person reads meanwhile."""
ROWS = (1, 4, 16, 64, 8, 32, 2, 3, 6, 12, 24, 48)
"""Sizes of passes, the telling ones first: a slow model is measured at the first few only."""
_SMALL = 16
"""Passes up to here are measured three times: they are cheap, and most steps are that small."""
_SWEEPS = 3
_BUDGET_S = 10.0
_DEPTH = 64
"""Tokens of context before the pass."""
_NOISY = 1.3
"""Largest over least time of a size from which on a measurement is not worth remembering."""


def typical(loaded: Loaded) -> Costs:
    """A usual machine's costs, unmeasured: the same drafts in every run."""
    return Costs(UNMEASURED, 0.15 if loaded.draft_session else None)


def measured(loaded: Loaded, tell: Callable[[float], None], clock: Clock = perf_counter) -> Costs:
    """The remembered costs, or new ones: at most some seconds, `tell` hearing the share done."""
    kept = paths.cache_dir() / "pace" / f"{_key(loaded)}.json"
    costs = _read(kept)
    if costs is None:
        costs, is_noisy = _measure(loaded, tell, clock)
        _log.info("measured%s: %s", " on a busy machine" if is_noisy else "", costs)
        if not is_noisy:
            _write(kept, costs, loaded.files)
    return costs


def _measure(loaded: Loaded, tell: Callable[[float], None], clock: Clock) -> tuple[Costs, bool]:
    """The costs, and whether the machine was too busy to trust them for long."""
    draft_s = None
    if loaded.draft_session is not None:
        draft_s = min(_pass_s(loaded.draft_session, 1, clock) for _ in range(1 + _SWEEPS))
    session = loaded.session
    sizes = [n for n in ROWS if n <= min(session.max_logits, session.n_ctx // 2)]
    took_s: dict[int, list[float]] = {n: [] for n in sizes}
    _pass_s(session, 1, clock)  # warms up
    began_s = clock()
    for sweep in range(_SWEEPS):
        for n in sizes if sweep == 0 else [n for n in sizes if n <= _SMALL]:
            is_known = all(took_s[n] for n in sizes[:3])
            if is_known and clock() - began_s > _BUDGET_S:
                break
            took_s[n].append(_pass_s(session, n, clock))
            n_done = sum(map(len, took_s.values()))
            tell(min(1.0, n_done / (_SWEEPS * len(sizes))))
    rows = sorted(n for n in sizes if took_s[n])
    spreads = sorted(max(took_s[n]) / min(took_s[n]) for n in rows if len(took_s[n]) > 1)
    is_noisy = bool(spreads) and spreads[len(spreads) // 2] > _NOISY
    costs = Costs(PassCosts(tuple(rows), tuple(min(took_s[n]) for n in rows)), draft_s)
    return costs, is_noisy


def _pass_s(session: Session, n_rows: int, clock: Clock) -> float:
    """Seconds of one pass over `n_rows` new rows."""
    depth = min(_DEPTH, session.n_ctx // 2)
    # Any tokens cost the same; different ones from row to row keep no kernel from its work.
    tokens = (np.arange(depth + n_rows) % min(session.n_vocab, 1000)).astype(np.int32)
    session.forward(tokens[:depth], n_logits=0)
    began_s = clock()
    session.forward(tokens, n_logits=min(n_rows, session.max_logits))
    return clock() - began_s


def _key(loaded: Loaded) -> str:
    """A name for everything that the costs depend on."""
    files = _headers(loaded.files)
    package = package_folder()
    facts = [
        fingerprint(package, cpu_identity()) if package else "",
        loaded.backend,
        loaded.n_threads,
        loaded.session.max_logits,
        *((f.path.name, f.shape.size_bytes, f.shape.n_params, f.shape.quant) for f in files),
    ]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _read(kept: Path) -> Costs | None:
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
        rows, seconds = found["target"]["rows"], found["target"]["seconds"]
        draft_s = found["draft_s"]
        times = seconds if draft_s is None else [*seconds, draft_s]
        is_curve = rows[0] == 1 and sorted(set(rows)) == rows and len(rows) == len(seconds)
        if is_curve and all(isinstance(t, float) and 0 < t < math.inf for t in times):
            return Costs(PassCosts(tuple(rows), tuple(seconds)), draft_s)
        _log.info("%s makes no sense and is measured anew", kept.name)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, LookupError, TypeError) as error:
        _log.info("%s is measured anew: %s", kept.name, error)
    return None


def _headers(files: Files) -> list[GgufHeader]:
    return [header for header in (files.target, files.draft) if header is not None]


def _write(kept: Path, costs: Costs, files: Files) -> None:
    names = [(header.path.name, header.shape.size_bytes) for header in _headers(files)]
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({"files": names, **asdict(costs)}), encoding="utf-8")
    except OSError as error:  # a full or read-only disk costs the next load a measurement
        _log.info("the measurement could not be kept: %s", error)
