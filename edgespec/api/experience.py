"""What was learned about drafters, from one session to the next: counters, never a text.

Kept per target and draft model. What cannot be read is begun anew.
"""

import json
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgespec.control.acceptance import Counts
from edgespec.control.auto import USUAL_TOKENS
from edgespec.drafters.arms import Bucket

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Experience:
    """Counters by drafter, and how long answers mostly are."""

    counts: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """By drafter and bucket name: tokens that came true, and that did not."""
    answer_tokens: float = USUAL_TOKENS

    def counts_of(self, drafter: str, buckets: Sequence[Bucket]) -> Counts | None:
        """The drafter's counters in the order of its buckets; None: nothing is known."""
        known = self.counts.get(drafter)
        if known is None:
            return None
        pairs = [known.get(bucket.name, (0.0, 0.0)) for bucket in buckets]
        return Counts(tuple(hits for hits, _ in pairs), tuple(misses for _, misses in pairs))


def read(kept: Path) -> Experience:
    """What was kept; nothing where there is no file, or none that makes sense."""
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
        counts = {
            drafter: {bucket: (float(h), float(m)) for bucket, (h, m) in known.items()}
            for drafter, known in found["counts"].items()
        }
        tokens = float(found["answer_tokens"])
        numbers = [x for known in counts.values() for pair in known.values() for x in pair]
        if all(0 <= x < math.inf for x in (tokens, *numbers)):
            return Experience(counts, tokens)
        _log.info("%s makes no sense and is begun anew", kept.name)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        _log.info("%s is begun anew: %s", kept.name, error)
    return Experience()


def write(
    kept: Path, counts: Mapping[str, tuple[Sequence[Bucket], Counts]], answer_tokens: float
) -> None:
    """Keep for the next session; whole or not at all."""
    found = {
        "counts": {
            drafter: {
                bucket.name: (round(hits, 3), round(misses, 3))
                for bucket, hits, misses in zip(buckets, c.hits, c.misses, strict=True)
                if hits or misses
            }
            for drafter, (buckets, c) in counts.items()
        },
        "answer_tokens": round(answer_tokens, 1),
    }
    new = kept.with_suffix(f".{os.getpid()}")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(found), encoding="utf-8")
        new.replace(kept)
    except OSError as error:  # a full or read-only disk: the next session begins anew
        _log.info("what was learned could not be kept: %s", error)
