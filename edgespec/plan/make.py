"""From hardware, sizes and wishes to the plan that fits, and from a plan to the next smaller one.

Pure; milliseconds. What was asked for is met or refused with the numbers, never downgraded.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from edgespec.plan.choice import (
    DRAFT_WINDOW,
    LEAST_CTX,
    LEAST_CTX_GPU,
    ROOMY_CTX,
    Choice,
    rungs,
    smaller,
    wish,
    with_context,
)
from edgespec.plan.fit import Fit, fit, usable
from edgespec.plan.lines import is_remote
from edgespec.plan.refusal import check, refusal
from edgespec.plan.strategy import notes, strategy
from edgespec.plan.types import Asked, Plan, PlanRequest

_GRAIN: Final = 256
"""Tokens of context that llama.cpp rounds to."""
_MOST_CTX: Final = 131_072
"""Longest context to look for where a model does not say what it was trained for."""


def make_plan(request: PlanRequest) -> Plan:
    """The plan that fits, with what gave way for it.

    Raises: `DoesNotFit` with the numbers and the nearest thing that fits; `UsageError` for a
    device or a split mode that cannot be.
    """
    check(request)
    found, tried = _search(request)
    if found is None:
        raise refusal(
            *(request, tried, _least(request), _roomiest),
            is_met=lambda other: _search(other)[0] is not None,
        )
    return _plan(request, found)


def next_rung(request: PlanRequest, plan: Plan) -> Plan | None:
    """The next smaller plan after one whose load failed all the same; None: there is none.

    Its rungs hold those of `plan` and what gives way now.
    """
    for choice in _lower(request, _choice_of(request, plan)):
        found = fit(request, choice)
        if found.shortage_bytes == 0:
            return _plan(request, found)
    return None


def _search(request: PlanRequest) -> tuple[Fit | None, Fit]:
    """The first choice that fits, and the first that was tried."""
    has_gpu = bool(usable(request)) and request.asked.n_gpu_layers != 0
    wished = wish(request, has_gpu=has_gpu)
    first = fit(request, wished)
    if first.shortage_bytes == 0:
        return _roomy(request, first), first
    choice = wished
    for choice in smaller(request, wished):
        found = fit(request, choice)
        if found.shortage_bytes == 0:
            return found, first
    for found in _short(request, choice, LEAST_CTX_GPU if choice.n_gpu_layers else LEAST_CTX):
        if found.shortage_bytes == 0:
            return found, first
    if has_gpu and _may_leave_gpu(request) and request.asked.devices is None:
        alone = replace(request, asked=replace(request.asked, n_gpu_layers=0))
        if (found_alone := _search(alone)[0]) is not None:
            return found_alone, first
    # Neither alone holds it, or the layers may not leave: rather a short context than none.
    shorter = _short(request, choice, LEAST_CTX) if choice.n_gpu_layers else ()
    return next((found for found in shorter if found.shortage_bytes == 0), None), first


def _roomy(request: PlanRequest, found: Fit) -> Fit:
    """The same with more context than the wish, where nobody else wants the memory: on a card, and
    on no other device than without."""
    own = {g.name for g in request.hardware.gpus if not (g.is_unified or is_remote(g.name))}
    is_on_own = found.target.devices and own.issuperset(found.target.devices)
    if request.asked.n_ctx is not None or not is_on_own:
        return found

    def with_tokens(n: int) -> Fit:
        return fit(request, with_context(found.choice, n * _GRAIN))

    def is_good(n: int) -> bool:
        other = with_tokens(n)
        return other.shortage_bytes == 0 and _places(other) == _places(found)

    most = min(ROOMY_CTX, request.target.n_ctx_train or _MOST_CTX) // _GRAIN
    n = _most(found.choice.n_ctx // _GRAIN + 1, most, is_good)
    return with_tokens(n) if n else found


def _places(found: Fit) -> tuple[tuple[str, ...], ...]:
    """The devices of the target and of the draft."""
    return found.target.devices, found.draft.devices if found.draft else ()


def _roomiest(request: PlanRequest) -> Fit | None:
    """What fits; where no context is asked for, with the longest for which anything gives way."""
    if request.asked.n_ctx is not None:
        return _search(request)[0]

    def with_tokens(n: int) -> Fit | None:
        return _search(replace(request, asked=replace(request.asked, n_ctx=n * _GRAIN)))[0]

    most = (request.target.n_ctx_train or _MOST_CTX) // _GRAIN
    n = _most(LEAST_CTX // _GRAIN, most, lambda n: with_tokens(n) is not None)
    return with_tokens(n) if n else None


def _least(request: PlanRequest) -> Fit:
    """The smallest way to run the target at all, whatever was asked for."""
    alone = replace(request, drafts=(), lower=(), asked=Asked(n_gpu_layers=0))
    wished = wish(alone, has_gpu=False)
    *_, choice = (wished, *smaller(alone, wished))
    return fit(alone, with_context(choice, min(LEAST_CTX, choice.n_ctx)))


def _short(request: PlanRequest, choice: Choice, least: int) -> Iterator[Fit]:
    """Less context, down to `least`, then fewer layers on the GPU: the most of each that fits."""
    whole, wished = choice, choice.n_ctx
    if request.asked.n_ctx is None and choice.n_ctx > least:
        choice = with_context(choice, max(least, _most_context(request, choice, least, wished)))
        yield fit(request, choice)
    n = _most_layers(request, choice) if _may_leave_gpu(request) and choice.n_gpu_layers else 0
    if n:  # a layer is large: beside what is left of it, some context may fit again
        whole = replace(whole, n_gpu_layers=n)  # with the draft's context as it was
        n_ctx = _most_context(request, whole, choice.n_ctx, wished)
        yield fit(request, with_context(whole, max(choice.n_ctx, n_ctx)))


def _most_layers(request: PlanRequest, choice: Choice) -> int:
    """The most layers on the GPU, less than all, with which a choice fits; 0: none.

    Where the machine's own memory is short too, some have to leave that first.
    """

    def with_layers(n: int) -> Fit:
        return fit(request, replace(choice, n_gpu_layers=n))

    most = choice.n_gpu_layers - 1
    least = bisect_left(range(1, most), True, key=lambda n: not with_layers(n).is_host_short) + 1
    return _most(least, most, lambda n: with_layers(n).shortage_bytes == 0)


def _most_context(request: PlanRequest, choice: Choice, least: int, most: int) -> int:
    """The longest context in [least, most] with which a choice fits, in whole grains; 0: none."""
    n = _most(
        max(1, least // _GRAIN),
        most // _GRAIN,
        lambda n: fit(request, with_context(choice, n * _GRAIN)).shortage_bytes == 0,
    )
    return n * _GRAIN


def _may_leave_gpu(request: PlanRequest) -> bool:
    """Whether layers may go to the CPU: not against a wish, and not in tensor mode."""
    return request.asked.n_gpu_layers is None and request.asked.split_mode != "tensor"


def _most(least: int, most: int, is_good: Callable[[int], bool]) -> int:
    """The largest number in [least, most] that is good, all below it being so too; 0: none."""
    if least > most or not is_good(least):
        return 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if is_good(middle) else (least, middle - 1)
    return least


def _lower(request: PlanRequest, choice: Choice) -> Iterator[Choice]:
    """Smaller choices, whatever the arithmetic says about this one."""
    for choice in smaller(request, choice):  # noqa: B020 - each follows from the one before
        yield choice
    least = LEAST_CTX_GPU if choice.n_gpu_layers else LEAST_CTX
    while request.asked.n_ctx is None and choice.n_ctx > least:
        choice = with_context(choice, max(least, choice.n_ctx // 2 // _GRAIN * _GRAIN))
        yield choice
    if _may_leave_gpu(request) and choice.n_gpu_layers:
        n = choice.n_gpu_layers
        while n := n * 3 // 4:
            yield replace(choice, n_gpu_layers=n)
        if request.asked.devices is None:
            alone = wish(request, has_gpu=False)
            yield alone
            yield from _lower(request, alone)


def _choice_of(request: PlanRequest, plan: Plan) -> Choice:
    draft, target = plan.draft, plan.target
    return Choice(
        draft=next((model for model in request.drafts if model.id == plan.draft_id), None),
        n_ctx=target.n_ctx,
        n_ctx_draft=draft.n_ctx if draft else 0,
        kv_type=target.kv_type,
        kv_type_draft=draft.kv_type if draft else "f16",
        n_gpu_layers=target.n_gpu_layers,
    )


def _plan(request: PlanRequest, found: Fit) -> Plan:
    choice = found.choice
    has_gpu = bool(usable(request)) and request.asked.n_gpu_layers != 0
    wished = wish(request, has_gpu=has_gpu)
    drafters, reason = strategy(request, found)
    return Plan(
        hardware=request.hardware.name,
        target_id=request.target.id,
        draft_id=choice.draft.id if choice.draft else None,
        target=found.target,
        draft=found.draft,
        drafters=drafters,
        reason=reason,
        lines=found.lines,
        rooms=found.rooms,
        rungs=tuple(rungs(request, wished, choice)),
        n_ctx_most=_longest(request, choice),
        notes=tuple(notes(request, found)),
        lower=found.lower,
        lower_ids=tuple(model.id for model in request.lower[: len(found.lower)]),
    )


def _longest(request: PlanRequest, choice: Choice) -> int:
    """The longest context with which a choice fits, up to what its model was trained for; the
    draft's grows with it, until it needs no more."""
    if choice.draft is not None and choice.n_ctx_draft == choice.n_ctx:
        trained = choice.draft.n_ctx_train or DRAFT_WINDOW
        window = max(choice.n_ctx_draft, min(DRAFT_WINDOW, trained))
        choice = replace(choice, n_ctx_draft=window)
    most = max(request.target.n_ctx_train or _MOST_CTX, choice.n_ctx)
    return max(choice.n_ctx, _most_context(request, choice, choice.n_ctx, most))
