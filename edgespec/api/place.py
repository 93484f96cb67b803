"""The plan for what is to be loaded: hardware read, sizes read, wishes met or refused."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from edgespec.engine.rpc.lent import worker_of
from edgespec.hardware.probe import probe
from edgespec.hardware.types import HardwareReport
from edgespec.plan.make import make_plan
from edgespec.plan.sizes import sizes_of
from edgespec.plan.strategy import unmet
from edgespec.plan.types import Asked, ModelSizes, Plan, PlanRequest

if TYPE_CHECKING:
    from edgespec.api.files import Files  # numpy, for comparing vocabularies

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and what it was made from: a failed load goes on to the next."""

    request: PlanRequest
    plan: Plan


def planned(
    files: "Files",
    asked: Asked,
    workers: Sequence[str] = (),
    memory_bytes: int | None = None,
    *,
    has_index: bool = False,
) -> Planned:
    """How to load these files here. `workers`: devices of connected workers that may be used.

    `memory_bytes`: use no more of the machine's own memory. `has_index`: of the user's own texts.
    Raises: `DoesNotFit` with the numbers and what fits, `UsageError`.
    """
    request = PlanRequest(
        this_machine(workers, memory_bytes),
        sizes_of(files.target, files.target_id),
        _draft_sizes((files, *files.others)),
        asked,
        has_index,
        _draft_sizes(files.lower),
    )
    plan = make_plan(request)
    for wish in unmet(request):
        _log.warning("%s", wish)
    for rung in plan.rungs:
        _log.warning("memory is short: %s", rung.told)
    return Planned(request, plan)


def _draft_sizes(pairs: Sequence["Files"]) -> tuple[ModelSizes, ...]:
    return tuple(
        replace(sizes_of(pair.draft, pair.draft_id or ""), is_foreign=pair.intersection is not None)
        for pair in pairs
        if pair.draft is not None
    )


def this_machine(workers: Sequence[str] = (), memory_bytes: int | None = None) -> HardwareReport:
    """This machine and the workers that may be used; others may be connected for other models."""
    found = probe()
    devices = tuple(d for d in found.devices if not worker_of(d.name) or d.name in workers)
    memory, available = found.memory, found.memory.available_bytes
    if memory_bytes is not None and not (isinstance(available, int) and available <= memory_bytes):
        memory = replace(memory, available_bytes=memory_bytes, limit="as was asked")
    return replace(found, devices=devices, memory=memory)
