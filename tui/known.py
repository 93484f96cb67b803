"""What was loaded on this machine before, as it was wanted: for all else a plan is shown first.

Owns a small file of the state folder. A load for which something had to give way is not kept: the
next one may need the same said.
"""

import json
import os
from pathlib import Path

from edgespec import paths
from edgespec.chat.shelf import ModelChange

_FILE = "loaded.json"
_MOST = 100


def is_known(wanted: ModelChange) -> bool:
    """Whether this was loaded before, and all of it fitted."""
    return _key(wanted) in _kept()


def remember(wanted: ModelChange) -> None:
    """Keep that this was loaded."""
    kept, key = _kept(), _key(wanted)
    if key in kept:
        return
    path = _path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps([*kept, key][-_MOST:]) + "\n", encoding="utf-8")
        os.replace(new, path)
    except OSError:
        return  # a home that cannot be written to: the plan is shown again


def _kept() -> list[str]:
    try:
        kept = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [key for key in kept if isinstance(key, str)] if isinstance(kept, list) else []


def _key(wanted: ModelChange) -> str:
    parts = (wanted.target, wanted.draft, wanted.n_ctx, wanted.n_gpu_layers)
    return " ".join("" if part is None else str(part) for part in parts)


def _path() -> Path:
    return paths.state_dir() / _FILE
