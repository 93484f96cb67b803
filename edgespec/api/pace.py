"""How fast this model is on this machine: measured at its first load, remembered for the next.

Owns the file it is remembered in. A measurement is wrong while the machine does other work, so the
least of several is kept: other work only ever adds time.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

import numpy as np

from edgespec import paths
from edgespec.api.load import Loaded
from edgespec.control import Costs
from edgespec.core import Session
from edgespec.costs import UNMEASURED, PassCosts
from edgespec.engine.fingerprint import cpu_identity, fingerprint, package_folder

_log = logging.getLogger(__name__)

ROWS = (1, 4, 16, 64, 8, 32, 2, 3, 6, 12, 24, 48)
"""Sizes of passes, the telling ones first: a slow model is measured at the first few only."""
_BUDGET_S = 6.0
_SWEEPS = 3
_DEPTH = 64
"""Tokens of context before the pass."""


def typical(loaded: Loaded) -> Costs:
    """A usual machine's costs, unmeasured: the same drafts in every run."""
    return Costs(UNMEASURED, 0.15 if loaded.draft_session else None)


def measured(loaded: Loaded, tell: Callable[[float], None]) -> Costs:
    """The remembered costs, or new ones: at most a few seconds, `tell` hearing the share done."""
    kept = paths.cache_dir() / "pace" / f"{_key(loaded)}.json"
    costs = _read(kept)
    if costs is None:
        costs = _measure(loaded, tell)
        _write(kept, costs)
        _log.info("measured: %s", costs)
    return costs


def _measure(loaded: Loaded, tell: Callable[[float], None]) -> Costs:
    draft_s = None
    if loaded.draft_session is not None:
        draft_s = min(_pass_s(loaded.draft_session, 1) for _ in range(1 + _SWEEPS))
    session = loaded.session
    sizes = [n for n in ROWS if n <= min(session.max_logits, session.n_ctx - _DEPTH)]
    least_s = {1: _pass_s(session, 1)}
    began_s = perf_counter()
    for sweep in range(_SWEEPS):
        for i, n in enumerate(sizes):
            is_late = perf_counter() - began_s > _BUDGET_S
            if is_late and (sweep > 0 or i > 2):
                break
            took_s = _pass_s(session, n)
            least_s[n] = min(took_s, least_s.get(n, took_s))
            tell((sweep + i / len(sizes)) / _SWEEPS)
    rows = sorted(least_s)
    return Costs(PassCosts(tuple(rows), tuple(least_s[n] for n in rows)), draft_s)


def _pass_s(session: Session, n_rows: int) -> float:
    """Seconds of one pass over `n_rows` new rows."""
    depth = min(_DEPTH, session.n_ctx - n_rows)
    # Any tokens cost the same; different ones from row to row keep no kernel from its work.
    tokens = (np.arange(depth + n_rows) % min(session.n_vocab, 1000)).astype(np.int32)
    session.forward(tokens[:depth], n_logits=0)
    began_s = perf_counter()
    session.forward(tokens, n_logits=min(n_rows, session.max_logits))
    return perf_counter() - began_s


def _key(loaded: Loaded) -> str:
    """A name for everything that the costs depend on."""
    files = [loaded.files.target, *([loaded.files.draft] if loaded.files.draft else [])]
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
        target = PassCosts(tuple(found["target"]["rows"]), tuple(found["target"]["seconds"]))
        draft_s = found["draft_s"]
        return Costs(target, None if draft_s is None else float(draft_s))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AssertionError) as error:
        _log.info("%s is measured anew: %s", kept.name, error)
        return None


def _write(kept: Path, costs: Costs) -> None:
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(costs)), encoding="utf-8")
    except OSError as error:  # a full or read-only disk costs the next load a measurement
        _log.info("the measurement could not be kept: %s", error)
