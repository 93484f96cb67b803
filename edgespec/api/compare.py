"""What llama.cpp allocated, beside what was planned."""

import re
from typing import Final

from edgespec.api.types import PlaceMemory
from edgespec.engine.allocation import allocations
from edgespec.plan.types import Plan

_COUNTED: Final = ("weights", "KV", "state", "compute")
_ALLOCATED: Final = re.compile(rf"(target|draft)( \d+)? (?!KV conversion)({'|'.join(_COUNTED)})\b")
"""Lines of a plan, of every model of a cascade."""


def compared(plan: Plan, lines: list[str]) -> tuple[PlaceMemory, ...]:
    """What llama.cpp's log says that it allocated, beside the plan, by place.

    Only what llama.cpp allocates by the load: margins and overheads are no buffers of its, the
    logits' buffer grows later, and of weights that were copied into another order one of both
    counts, since the file's own pages can be taken back.
    """
    planned_bytes: dict[str, int] = {}
    for line in plan.lines:
        if _ALLOCATED.match(line.what):
            planned_bytes[line.where] = planned_bytes.get(line.where, 0) + line.size_bytes
    allocated_bytes: dict[str, int] = {}
    for found in allocations(lines):
        if found.what in _COUNTED:
            before = allocated_bytes.get(found.where, 0)
            allocated_bytes[found.where] = before + found.size_bytes
    return tuple(
        PlaceMemory(where, planned_bytes.get(where, 0), allocated_bytes.get(where, 0))
        for where in dict.fromkeys((*planned_bytes, *allocated_bytes))
    )
