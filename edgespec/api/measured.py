"""What was measured on this machine, for pairs of models: read back from `api.pace`'s files."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgespec import paths
from edgespec.costs import PassCosts

Files = tuple[tuple[str, int], ...]
"""Name and size of the target's first file, then of the draft's: what a measurement is known by."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Costs of one pair, on this machine as it is."""

    rows: PassCosts
    """The target's passes."""
    draft_s: float
    """One draft token."""

    @property
    def draft_share(self) -> float:
        """A draft token's cost in plain steps of the target."""
        return self.draft_s / self.rows.plain_s


def measured_pairs() -> dict[Files, Measured]:
    """Every pair that was loaded here once; where there are several settings, the fastest."""
    found: dict[Files, Measured] = {}
    folder = paths.cache_dir() / "pace"
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        if (one := _read(file)) is not None:
            files, measured = one
            known = found.get(files)
            if known is None or measured.rows.plain_s < known.rows.plain_s:
                found[files] = measured
    return found


def _read(file: Path) -> tuple[Files, Measured] | None:
    try:
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        files = tuple((str(name), int(size)) for name, size in kept["files"])
        rows, seconds = tuple(kept["target"]["rows"]), tuple(kept["target"]["seconds"])
        draft_s = float(kept["draft_s"])
    except (OSError, ValueError, LookupError, TypeError):
        return None  # not of a pair, cut off, or of an older edgespec: measured anew when loaded
    times = (*seconds, draft_s)
    is_sound = len(rows) == len(seconds) and rows[:1] == (1,) and len(files) == 2
    if not is_sound or not all(isinstance(t, float) and 0 < t < math.inf for t in times):
        return None
    return files, Measured(PassCosts(rows, seconds), draft_s)
