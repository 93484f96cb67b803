"""How fast models of the catalogue are on this machine: as measured here, else by what was.

A plain step reads the weights once, so its time goes with their bytes: from a model that was
measured to one that was not. Nothing is said where nothing was measured yet.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from edgespec.api.judge import read_bytes
from edgespec.api.measured import plain_steps
from edgespec.models.spec import ModelSpec
from edgespec.plan.estimate import estimated


@dataclass(frozen=True, slots=True)
class Speed:
    """Plain decoding of one model."""

    tokens_per_s: float
    is_measured: bool
    """On this machine; else it is reckoned from another model that was."""


def speeds(specs: Iterable[ModelSpec]) -> dict[str, Speed]:
    """By id; models of which nothing can be said are left out."""
    specs, steps = list(specs), plain_steps()
    found = {
        spec.id: Speed(1 / steps[spec.size_bytes], is_measured=True)
        for spec in specs
        if spec.size_bytes in steps
    }
    known = [
        (read, steps[s.size_bytes]) for s in specs if s.size_bytes in steps and (read := _read(s))
    ]
    for spec in specs if known else ():
        if spec.id not in found and (read := _read(spec)):
            near, took_s = min(known, key=lambda one: abs(math.log(one[0] / read)))
            found[spec.id] = Speed(near / read / took_s, is_measured=False)
    return found


def _read(spec: ModelSpec) -> float | None:
    sizes = estimated(spec)
    return read_bytes(sizes) if sizes is not None else None
