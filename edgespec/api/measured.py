"""What was measured on this machine, read back from `api.pace`'s files."""

from collections.abc import Iterator
from dataclasses import dataclass

from edgespec import paths
from edgespec.api.samples import Files, Samples, read
from edgespec.costs import PassCosts


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
    for samples in _kept():
        if len(samples.files) != 2 or samples.draft_s is None:
            continue
        rows = samples.measured().target
        known = found.get(samples.files)
        if known is None or rows.plain_s < known.rows.plain_s:
            found[samples.files] = Measured(rows, samples.draft_s)
    return found


def plain_steps() -> dict[int, float]:
    """Seconds of a plain step, by the size of the model's file in bytes; the fastest of each."""
    found: dict[int, float] = {}
    for samples in _kept():
        if samples.files:
            size_bytes, took_s = samples.files[0][1], samples.measured().target.plain_s
            found[size_bytes] = min(took_s, found.get(size_bytes, took_s))
    return found


def _kept() -> Iterator[Samples]:
    """What makes sense: a file that is cut off, or of an older edgespec, has no times."""
    folder = paths.cache_dir() / "pace"
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        if (samples := read(file)).seconds:
            yield samples
