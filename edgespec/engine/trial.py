"""Trying a load in a child process first, where it might take the process with it.

GPU backends end the process when memory runs out in the middle of a pass, and the system kills
one that takes more than there is. So a load of a kind that was never tried is done by a child,
with the largest passes that can come; what went well is remembered.
"""

import hashlib
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from edgespec import paths
from edgespec.engine import children
from edgespec.engine.context import ContextOptions
from edgespec.engine.fingerprint import cpu_identity, fingerprint, package_folder
from edgespec.engine.model import LoadOptions
from edgespec.errors import DoesNotFit

_log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 600.0
REFUSED: Final = 4
"""The child's exit status where the load failed in order: its last line says why."""


class Killed(DoesNotFit):
    """The child did not fail in order: it was killed."""


@dataclass(frozen=True, slots=True)
class Part:
    """One model of a load."""

    path: Path
    load: LoadOptions
    context: ContextOptions


def attempt(
    parts: Sequence[Part],
    devices: Sequence[str],
    *,
    is_remembered: bool = True,
    timeout_s: float = _TIMEOUT_S,
) -> None:
    """Load `parts` together and decode with each, in a child; at once if that went well before.

    `devices` describe what they lie on: another card, or another driver's words for it, is tried
    anew. `is_remembered` False: it depends on what else is going on, and is tried each time.
    Raises: `DoesNotFit` where the child fails, `Killed` where it is killed.
    """
    job = json.dumps([_as_json(part) for part in parts])
    kept = paths.cache_dir() / "trials" / f"{_key(job, parts, devices)}.json"
    if is_remembered and kept.exists():
        return
    command = (sys.executable, "-P", "-m", "edgespec.engine.trial_load", job)
    ended = children.run(command, timeout_s=timeout_s)
    _log.info("tried in a child: %s", ended)
    if ended.status == 0:
        if is_remembered:
            _remember(kept, job)
    elif ended.status == REFUSED:
        raise DoesNotFit(ended.said)
    elif ended.signal or ended.fault:
        killed_by = ended.signal or ended.fault
        raise Killed(
            f"loading {parts[0].path.name} this way kills the process ({killed_by}: a child "
            "process tried it)",
            hint="fewer layers on the GPU: --gpu-layers N",
        )
    else:  # it says nothing about the load: a Python that cannot start, a time-out
        _log.warning("the load could not be tried first: %s", ended.said)


def parts_of(job: str) -> tuple[Part, ...]:
    """What `attempt` hands to its child."""
    return tuple(
        Part(
            Path(part["path"]),
            LoadOptions(**_with_tuples(part["load"])),
            ContextOptions(**part["context"]),
        )
        for part in json.loads(job)
    )


def _as_json(part: Part) -> dict[str, Any]:
    load = replace(part.load, ids_of=None)  # with its texts a model takes no less memory
    return {"path": str(part.path), "load": asdict(load), "context": asdict(part.context)}


def _with_tuples(load: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in load.items()}


def _key(job: str, parts: Sequence[Part], devices: Sequence[str]) -> str:
    package = package_folder()
    facts = (
        fingerprint(package, cpu_identity()) if package else "",
        job,
        *(str(part.path.stat().st_size) for part in parts),
        *devices,
    )
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]


def _remember(kept: Path, job: str) -> None:
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(job, encoding="utf-8")
    except OSError as error:  # the next load tries again
        _log.info("the trial could not be remembered: %s", error)
