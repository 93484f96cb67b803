"""What llama.cpp allocated, beside what was planned."""

from edgespec.api.types import PlaceMemory
from edgespec.engine.allocation import allocations
from edgespec.plan.types import Plan


def compared(plan: Plan, lines: list[str]) -> tuple[PlaceMemory, ...]:
    """What llama.cpp's log says that it allocated, beside the plan, by place.

    Only what llama.cpp allocates by the load: margins and overheads are no buffers of its, the
    logits' buffer grows later, and of weights that were copied into another order one of both
    counts, since the file's own pages can be taken back.
    """
    counted = ("weights", "KV", "state", "compute")
    planned_bytes: dict[str, int] = {}
    for line in plan.lines:
        role, _, what = line.what.partition(" ")
        if role in ("target", "draft") and what.split()[0] in counted and what != "KV conversion":
            planned_bytes[line.where] = planned_bytes.get(line.where, 0) + line.size_bytes
    allocated_bytes: dict[str, int] = {}
    for found in allocations(lines):
        if found.what in counted:
            before = allocated_bytes.get(found.where, 0)
            allocated_bytes[found.where] = before + found.size_bytes
    return tuple(
        PlaceMemory(where, planned_bytes.get(where, 0), allocated_bytes.get(where, 0))
        for where in dict.fromkeys((*planned_bytes, *allocated_bytes))
    )
