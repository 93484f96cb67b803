"""A tiny model on a hub of this machine, and pulling it without patience."""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

from edgespec import store
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store import Patience, PullProgress
from tests.hub import COMMIT, Fault
from tests.unit.wheels import content

DATA = content(3_000_000)
REPO, FILE = "owner/tiny", "tiny.gguf"
SOURCE = HubSource(REPO, FILE, COMMIT)
SPEC = ModelSpec(
    "tiny",
    "Tiny",
    FILE,
    "Q8_0",
    (SOURCE,),
    size_bytes=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
)
UNPINNED = ModelSpec("tiny", "Tiny", FILE, "Q8_0", (HubSource(REPO, FILE),))
HASTY = Patience(tries=3, pause_s=0.02, longest_pause_s=5.0)
RESTLESS = dataclasses.replace(HASTY, silence_s=1.0)
"""For connections that stay silent for good; too short for a server that is only slow."""


def pull(
    spec: ModelSpec = SPEC,
    told: list[PullProgress] | None = None,
    faults: Sequence[Fault] = (),
) -> Path:
    tell = store.ignore if told is None else told.append
    patience = RESTLESS if any(fault.is_silent for fault in faults) else HASTY
    return store.pull(spec, tell, patience=patience)


def blobs(cache: Path) -> list[Path]:
    return list((cache / "models--owner--tiny" / "blobs").glob("*"))


def notes(told: list[PullProgress]) -> list[str]:
    return [note for note in dict.fromkeys(state.note for state in told) if note]
