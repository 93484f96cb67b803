"""What a plan can vary, and in which order it gives way when memory is short.

Pure: a `Choice` in, smaller ones out; and the sentences that tell how a choice differs from the
wish. What fits is `edgespec.plan.fit`'s question.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from edgespec.plan.types import (
    QUANT_BLOCK,
    KvType,
    ModelSizes,
    PlanRequest,
    Rung,
    is_quantised,
)
from edgespec.sizes import gibibytes

DRAFT_WINDOW: Final = 2048
"""Tokens of context of a draft that reads the latest ones only: it reads at most 1,024 of the past
and what it drafts (edgespec/drafters/reading.py), so nothing is lost by it."""
DEFAULT_CTX: Final = 8192
ROOMY_CTX: Final = 32_768
"""Where a card of this machine has the room, nobody has to ask for more than this."""
LEAST_CTX_GPU: Final = 4096
"""Below this, layers leave the GPU rather than context."""
LEAST_CTX: Final = 512
_SMALLER_KV: Final[KvType] = "q8_0"


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to load target and draft."""

    draft: ModelSizes | None
    n_ctx: int
    n_ctx_draft: int
    kv_type: KvType
    kv_type_draft: KvType
    n_gpu_layers: int
    """Of the target, the output included."""


def wish(request: PlanRequest, *, has_gpu: bool) -> Choice:
    """What would be loaded if memory were no question."""
    asked, target = request.asked, request.target
    n_ctx = asked.n_ctx or min(DEFAULT_CTX, target.n_ctx_train or DEFAULT_CTX)
    whole = len(target.layers) + 1 if has_gpu else 0
    draft = request.drafts[0] if request.drafts and asked.draft != "off" else None
    return Choice(
        draft=draft,
        n_ctx=n_ctx,
        # It reads the latest tokens only (drafters/reading.py): more would lie idle.
        n_ctx_draft=min(n_ctx, DEFAULT_CTX, draft.n_ctx_train or n_ctx) if draft else 0,
        kv_type=asked.kv_type or "f16",
        kv_type_draft="f16",
        n_gpu_layers=whole if asked.n_gpu_layers is None else min(asked.n_gpu_layers, whole),
    )


def smaller(request: PlanRequest, choice: Choice) -> Iterator[Choice]:
    """What gives way before the context does: the drafter, step by step, then the cache's type."""
    draft = choice.draft
    if draft is not None and choice.n_ctx_draft > DRAFT_WINDOW:
        choice = replace(choice, n_ctx_draft=DRAFT_WINDOW)
        yield choice
    if draft is not None and not is_quantised(choice.kv_type_draft) and can_quantise(draft):
        choice = replace(choice, kv_type_draft=_SMALLER_KV)
        yield choice
    if draft is not None and request.asked.draft != "required":
        for other in _smaller_drafts(request, draft):
            kv_type: KvType = _SMALLER_KV if can_quantise(other) else "f16"
            choice = replace(choice, draft=other, kv_type_draft=kv_type)
            yield choice
        choice = replace(choice, draft=None)
        yield choice
    is_free = request.asked.kv_type is None and not is_quantised(choice.kv_type)
    is_free = is_free and request.asked.split_mode != "tensor"  # which quantises no cache
    if is_free and can_quantise(request.target):
        yield replace(choice, kv_type=_SMALLER_KV)


def with_context(choice: Choice, n_ctx: int) -> Choice:
    """The same with another context; a draft's is never longer than its target's."""
    return replace(choice, n_ctx=n_ctx, n_ctx_draft=min(choice.n_ctx_draft, n_ctx))


def rungs(request: PlanRequest, wished: Choice, choice: Choice) -> Iterator[Rung]:
    """How a choice differs from the wish, in the order in which things give way."""
    yield from _draft_rungs(wished, choice)
    target, whole = request.target, wished.n_gpu_layers
    if choice.kv_type != wished.kv_type:
        told = f"the cache of {target.id} is {choice.kv_type} instead of {wished.kv_type}"
        yield Rung("kv_type", told)
    if choice.n_ctx < wished.n_ctx:
        told = f"a context of {choice.n_ctx:,} tokens instead of {wished.n_ctx:,}"
        yield Rung("n_ctx", told)
    if choice.n_gpu_layers < whole and choice.n_gpu_layers:
        told = f"{choice.n_gpu_layers} of {whole} layers of {target.id} on the GPU, the others "
        yield Rung("n_gpu_layers", told + "on the CPU")
    if choice.n_gpu_layers < whole and not choice.n_gpu_layers:
        yield Rung("cpu", f"{target.id} runs on the CPU: not even one layer fits the GPU")


def _draft_rungs(wished: Choice, choice: Choice) -> Iterator[Rung]:
    first, draft = wished.draft, choice.draft
    if first is None:
        return
    if draft is None:
        size = gibibytes(first.weight_bytes)
        yield Rung("no_draft", f"no draft model: {first.id} would take {size} and its cache")
        return
    if choice.n_ctx_draft < min(wished.n_ctx_draft, choice.n_ctx):
        told = f"{draft.id} drafts from the last {choice.n_ctx_draft:,} tokens"
        yield Rung("draft_kv", told)
    if choice.kv_type_draft != wished.kv_type_draft:
        yield Rung("draft_kv", f"the cache of {draft.id} is {choice.kv_type_draft}")
    if draft.id != first.id:
        freed = gibibytes(first.weight_bytes - draft.weight_bytes)
        yield Rung("smaller_draft", f"{draft.id} drafts instead of {first.id}, {freed} smaller")


def _smaller_drafts(request: PlanRequest, draft: ModelSizes) -> Iterator[ModelSizes]:
    """The other drafts that are smaller, one after another."""
    for other in sorted(request.drafts, key=lambda model: -model.weight_bytes):
        if other.weight_bytes < draft.weight_bytes:
            yield other
            draft = other


def can_quantise(model: ModelSizes) -> bool:
    """Whether the model's cache can be of a quantised type: by its heads, and at all."""
    return model.n_head_dim % QUANT_BLOCK == 0 and any(layer.n_embd_k for layer in model.layers)
