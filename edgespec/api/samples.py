"""Measured times of passes as they are kept on disk, and what is made of them."""

import json
import logging
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from edgespec.control.costs import Measured
from edgespec.costs import LAST_OF_KERNEL, PassCosts
from edgespec.files import write_whole

_log = logging.getLogger(__name__)

NOISY = 1.3
"""Spread from which on a measurement is not trusted."""
DIP = 1.3
"""How much dearer than a larger pass one may really be, where a kernel likes certain sizes: 1.2 was
seen. What lies above was held up."""
KERNEL_DIP = 2.5
"""The same where the larger pass takes another kernel, which may be much the better one, as Metal's
for 9 rows and more is: nothing is made monotone that may really dip."""

Files = tuple[tuple[str, int], ...]
"""Name and size of the target's first file, then of the draft's: what a measurement is known by."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of one pair on one machine, in seconds."""

    seconds: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    """By rows, those that were measured."""
    draft_s: float | None = None
    read_s: float | None = None
    files: Files = ()
    """Whose times these are; empty where that was not kept."""

    @property
    def spread(self) -> float:
        """How far the times lie apart: the median of largest over least, of one size; or how much
        dearer than a larger size one is, if that is more."""
        spreads = [max(taken) / min(taken) for taken in self.seconds.values() if len(taken) > 1]
        least = {n: min(taken) for n, taken in self.seconds.items()}
        dearer = (DIP * s / _ceiling(n, least) for n, s in least.items())
        return max(median(spreads) if spreads else 1.0, *dearer, 1.0)

    def measured(self) -> Measured:
        """The curve: the least of each size, since others on the machine only make a pass dearer;
        none much dearer than a larger one."""
        rows = tuple(sorted(self.seconds))
        least = {n: min(self.seconds[n]) for n in rows}
        seconds = tuple(min(least[n], _ceiling(n, least)) for n in rows)
        is_doubtful = self.spread > NOISY or any(len(taken) == 1 for taken in self.seconds.values())
        return Measured(PassCosts(rows, seconds), self.draft_s, self.read_s, is_doubtful)


def _ceiling(n: int, least: Mapping[int, float]) -> float:
    """The most that a pass of `n` rows can really take, beside those of larger ones."""
    kernel = bisect_left(LAST_OF_KERNEL, n)
    return min(
        (
            seconds * (DIP if bisect_left(LAST_OF_KERNEL, m) == kernel else KERNEL_DIP)
            for m, seconds in least.items()
            if m > n
        ),
        default=math.inf,
    )


def read(kept: Path) -> Samples:
    """What was kept; nothing where there is no file, or none that makes sense."""
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
        seconds = {int(n): tuple(taken) for n, taken in found["seconds"].items()}
        draft_s, read_s = found["draft_s"], found["read_s"]
        times = [t for taken in seconds.values() for t in taken]
        times += [t for t in (draft_s, read_s) if t is not None]
        files = tuple((str(name), int(size)) for name, size in found.get("files", ()))
        if all(isinstance(t, float) and 0 < t < math.inf for t in times) and _is_curve(seconds):
            return Samples(seconds, draft_s, read_s, files)
        _log.info("%s makes no sense and is measured anew", kept.name)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        _log.info("%s is measured anew: %s", kept.name, error)
    return Samples()


def _is_curve(seconds: Mapping[int, tuple[float, ...]]) -> bool:
    return 1 in seconds and min(seconds) == 1 and all(seconds.values())


def write(kept: Path, samples: Samples, files: Sequence[tuple[str, int]]) -> None:
    """Keep for the next load, with the names and sizes of whose they are."""
    times = {str(n): taken for n, taken in samples.seconds.items()}
    found = {
        "files": list(files),
        "seconds": times,
        "draft_s": samples.draft_s,
        "read_s": samples.read_s,
    }
    try:
        write_whole(kept, json.dumps(found))
    except OSError as error:  # a full or read-only disk costs the next load a measurement
        _log.info("the measurement could not be kept: %s", error)
