"""How to draft on what was planned, and why, in a sentence.

The rule: a draft model if target, drafter and caches fit the card; on several cards the target
split over them and the drafter on the lighter one; else what needs no memory. Whether drafting
pays at a step is decided there, by what was measured.

Drafters are known by name: their classes need numpy, which a plan does without.
"""

from collections.abc import Iterator
from typing import Final

from edgespec.drafters import DRAFTERS
from edgespec.hardware.types import Unknown
from edgespec.plan.fit import LEAST_DEVICE_BYTES, Fit
from edgespec.plan.types import PlanRequest
from edgespec.sizes import gibibytes

NEED_MODEL: Final = frozenset({"model", "cascade", "suffix+model"})
NEED_BRANCHES: Final = frozenset({"lookahead", "tree"})
"""Passes that branch, which a context must be made for: so they are asked for by name."""
NEED_INDEX: Final = frozenset({"index"})


def strategy(request: PlanRequest, found: Fit) -> tuple[tuple[str, ...], str]:
    """Names of the registry that can be built on this, in order of preference, and the reason."""
    missing = NEED_MODEL | {"none"}
    missing |= frozenset() if found.target.max_branches else NEED_BRANCHES
    missing |= frozenset() if request.has_index else NEED_INDEX
    lookups = tuple(name for name in DRAFTERS if name not in missing)
    if found.draft is None:
        told = f"drafts take no memory and come from {' and '.join(lookups)}: {_lack(request)}"
        return (*lookups, "none"), told + _beside(request, missing)
    with_model = tuple(sorted(NEED_MODEL, key=len, reverse=True))
    return (*with_model, *lookups, "none"), _fitting(request, found)


def notes(request: PlanRequest, found: Fit) -> Iterator[str]:
    """What a person should know about the plan beside its numbers."""
    target, draft = request.target, found.choice.draft
    for model in (target, draft):
        if model is not None and model.is_estimate:
            yield f"{model.id} is not here: its sizes are the catalogue's, good to some 3 %"
    if target.has_heads:
        yield f"{target.id} carries trained draft heads, which are not used yet"
    if target.n_expert and draft is not None:
        yield (
            f"{target.id} is a mixture of experts: a pass over a draft reads more of them, so "
            "drafting gains less; what was measured decides"
        )
    yield from unmet(request)
    if request.asked.devices is None and request.asked.n_gpu_layers != 0:
        yield from _left_out(request)
    yield from request.hardware.notes


def unmet(request: PlanRequest) -> Iterator[str]:
    """What was asked for and has no object, which is no reason to refuse the rest."""
    if request.asked.draft_devices is not None and not request.drafts:
        yield f"there is no draft model to lie on {' and '.join(request.asked.draft_devices)}"


def _left_out(request: PlanRequest) -> Iterator[str]:
    """The GPUs that get nothing although nobody said so, and why."""
    for gpu in request.hardware.gpus:
        if isinstance(gpu.free_bytes, Unknown):
            yield f"{gpu.name} is left out: {gpu.free_bytes.reason}"
        elif gpu.free_bytes < LEAST_DEVICE_BYTES:
            yield (
                f"{gpu.name} is left out: {gibibytes(gpu.free_bytes)} are free, too little for its "
                "share of the buffers"
            )


def _fitting(request: PlanRequest, found: Fit) -> str:
    target, draft = found.target.devices, found.draft.devices if found.draft else ()
    if not target:
        return "target, drafter and both caches fit the memory: the draft model can draft"
    is_whole = found.target.n_gpu_layers > len(request.target.layers)
    if is_whole and len(target) == 1 and draft == target:
        return f"target, drafter and both caches fit {target[0]}: the draft model can draft"
    where = " and ".join(draft) or "the CPU"
    lighter = ", the lighter one" if len(target) > 1 and len(draft) == 1 else ""
    part = "" if is_whole else "a part of "
    return f"{part}the target lies on {' and '.join(target)}, the drafter on {where}{lighter}"


def _beside(request: PlanRequest, missing: frozenset[str]) -> str:
    """What would draft without a model if it were asked for by name."""
    can_branch = not request.target.is_recurrent
    named = [name for name in DRAFTERS if name in NEED_BRANCHES & missing and can_branch]
    return f" (--drafter {' or '.join(named)} takes none either)" if named else ""


def _lack(request: PlanRequest) -> str:
    if request.asked.draft == "off":
        return "no draft model is wanted"
    if not request.drafts:
        return f"there is no draft model for {request.target.id}"
    return "no draft model fits beside the target"
