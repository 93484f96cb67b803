"""Where a choice goes: on one GPU, over several, in part, or on the CPU; and whether it fits.

Pure. Memory is what is free now, not what a card has; a device that reports none takes nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from edgespec.hardware.types import Device, HardwareReport
from edgespec.plan.choice import Choice, can_quantise
from edgespec.plan.lines import (
    CPU,
    free_of,
    is_remote,
    margin_bytes,
    model_lines,
    overhead_lines,
    shares,
)
from edgespec.plan.share import even_shares, layer_counts
from edgespec.plan.types import KvType, Line, ModelSizes, Placement, PlanRequest, Room

MAX_LOGITS: Final = 64
"""Rows of one verification: the last token and the longest draft (edgespec/control/costs.py)."""
DRAFT_LOGITS: Final = 16
"""Rows of a draft model's pass: the last token and what is guessed to follow."""
N_BATCH_GPU: Final = 512
N_BATCH_CPU: Final = 128
N_SNAPSHOTS: Final = 8
"""States that llama.cpp keeps for rollback, where it can (engine/model.py)."""
_SHIFTS: Final = (0, 1, -1, 2, -2)
"""Layers are large, and the first and the last device hold more beside them than the others."""
LEAST_DEVICE_BYTES: Final = 256 << 20
"""A device with less free is not worth its share of the buffers."""
_FLASH_HEADS: Final = frozenset({40, 64, 72, 80, 96, 112, 128, 192, 256, 320, 512, 576})
"""Source: llama.cpp ggml/src/ggml-cuda/fattn.cu, ggml_cuda_get_best_fattn_kernel."""
_ROLLS_BACK: Final = frozenset(
    {"bailingmoe3", "deepseek4", "glm5-next", "kimi-k3", "lfm2", "lfm2moe", "nemotron_h",
     "nemotron_h_moe", "qwen35", "qwen35moe", "qwen4exp"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fit:
    """A choice with its places, in bytes."""

    choice: Choice
    target: Placement
    draft: Placement | None
    lines: tuple[Line, ...]
    rooms: tuple[Room, ...]
    lower: tuple[Placement, ...] = ()

    @property
    def shortage_bytes(self) -> int:
        """Bytes that are missing, over all places; 0: it fits."""
        return sum(room.lacks_bytes for room in self.rooms)

    @property
    def is_host_short(self) -> bool:
        """Whether bytes are missing in the machine's own memory."""
        return any(room.where == CPU and room.lacks_bytes for room in self.rooms)


def usable(request: PlanRequest) -> tuple[Device, ...]:
    """The GPUs that layers may go to, as they were asked for; else the roomiest first, and those of
    other machines last."""
    asked = request.asked.devices
    gpus = request.hardware.gpus
    if asked is not None:
        return tuple(gpu for name in asked for gpu in gpus if gpu.name == name)
    own = [gpu for gpu in gpus if free_of(gpu) >= LEAST_DEVICE_BYTES]
    kept = [gpu for gpu in own if gpu.kind == "GPU"] or own
    return tuple(sorted(kept, key=lambda gpu: (is_remote(gpu.name), -free_of(gpu))))


def fit(request: PlanRequest, choice: Choice) -> Fit:
    """The first way to place the choice that fits; else the one that lacks least."""
    best: Fit | None = None
    for way in _ways(request, choice):
        found = way.fit()
        if found.shortage_bytes == 0:
            return found
        if best is None or found.shortage_bytes < best.shortage_bytes:
            best = found
    assert best is not None, "there is always the CPU"
    return best


def _ways(request: PlanRequest, choice: Choice) -> Iterator["_Way"]:
    """The ways to place the choice, the fastest first; shared ones with their borders moved."""
    for devices, draft_devices in _device_pairs(request, choice):
        for shift in _SHIFTS if len(devices) > 1 else _SHIFTS[:1]:
            yield _Way(request, choice, devices, draft_devices, shift)


def _device_pairs(
    request: PlanRequest, choice: Choice
) -> Iterator[tuple[tuple[Device, ...], tuple[Device, ...]]]:
    """Devices of target and draft, the fastest first."""
    gpus, asked = usable(request), request.asked
    if not gpus or not choice.n_gpu_layers:
        yield (), _draft_devices(request) or ()
        return
    wanted = _draft_devices(request)
    is_shared = asked.devices is not None or asked.split_mode in ("layer", "tensor")
    if not is_shared or asked.split_mode == "none":
        for gpu in gpus:
            yield (gpu,), (gpu,) if wanted is None else wanted
    if (len(gpus) > 1 or is_shared) and asked.split_mode != "none":
        for gpu in gpus if wanted is None else gpus[:1]:
            yield gpus, (gpu,) if wanted is None else wanted


def _draft_devices(request: PlanRequest) -> tuple[Device, ...] | None:
    asked = request.asked.draft_devices
    if asked is None:
        return None
    return tuple(gpu for name in asked for gpu in request.hardware.gpus if gpu.name == name)


@dataclass(frozen=True, slots=True)
class _Way:
    """A choice on given devices."""

    request: PlanRequest
    choice: Choice
    devices: tuple[Device, ...]
    draft_devices: tuple[Device, ...]
    shift: int
    """Layers that go from the last device to the first, against their shares."""

    def fit(self) -> Fit:
        choice, model = self.choice, self.request.target
        drafts = () if choice.draft is None else (choice.draft, *self.request.lower)
        placed = tuple(self._drafting(one) for one in drafts)
        draft_lines: tuple[Line, ...] = ()
        for i, (one, placement) in enumerate(zip(drafts, placed, strict=True), start=1):
            role = "draft" if i == 1 else f"draft {i}"
            draft_lines += tuple(model_lines(role, one, placement))
        draft = placed[0] if placed else None
        target = self._placement(
            model,
            self.devices,
            choice.n_gpu_layers,
            (choice.n_ctx, choice.kv_type, MAX_LOGITS),
            draft_lines,
        )
        lines = (*model_lines("target", model, target), *draft_lines)
        used = {*target.devices, *(draft.devices if draft else ())}
        lines += tuple(overhead_lines(self.request.hardware, tuple(used)))
        rooms, margins = _rooms(self.request.hardware, lines)
        return Fit(choice, target, draft, lines + margins, rooms, placed[1:])

    def _drafting(self, model: ModelSizes) -> Placement:
        choice = self.choice
        n_rows = 1 if model.is_recurrent else DRAFT_LOGITS  # a state goes back a few tokens at most
        n_ctx = min(choice.n_ctx_draft, model.n_ctx_train or choice.n_ctx_draft)
        kv_type = choice.kv_type_draft if can_quantise(model) else "f16"
        context = (n_ctx, kv_type, n_rows)
        return self._placement(model, self.draft_devices, len(model.layers) + 1, context, ())

    def _n_branches(self, model: ModelSizes) -> int:
        can_branch = model is self.request.target and not model.is_recurrent
        return self.request.asked.max_branches if can_branch else 0

    def _placement(
        self,
        model: ModelSizes,
        devices: tuple[Device, ...],
        n_layers: int,
        context: tuple[int, KvType, int],
        taken: Sequence[Line],
    ) -> Placement:
        n_ctx, kv_type, max_logits = context
        placement = Placement(
            devices=tuple(device.name for device in devices) if n_layers else (),
            split=(1.0,) if len(devices) == 1 and n_layers else (),
            n_gpu_layers=n_layers if devices else 0,
            split_mode="none" if len(devices) < 2 else "layer",
            n_ctx=n_ctx,
            n_batch=N_BATCH_GPU if self.devices else N_BATCH_CPU,
            max_logits=max_logits,
            kv_type=kv_type,
            n_snapshots=N_SNAPSHOTS if model.architecture in _ROLLS_BACK else 0,
            max_branches=self._n_branches(model),
            flash_attention=_has_flash(model, devices),
        )
        if len(devices) < 2 or not n_layers:
            return placement
        if model is self.request.target and self.request.asked.split_mode == "tensor":
            return replace(placement, split=even_shares(devices, taken), split_mode="tensor")
        counts = layer_counts(model, n_layers, devices, taken, self.shift)
        kept = [i for i, count in enumerate(counts) if count]
        return replace(
            placement,
            devices=tuple(devices[i].name for i in kept),
            split=shares([counts[i] for i in kept]),
            split_mode="layer" if len(kept) > 1 else "none",
        )


def _has_flash(model: ModelSizes, devices: tuple[Device, ...]) -> bool:
    """Whether llama.cpp will find its kernel: the CPU has one for all heads, CUDA for the usual."""
    is_picky = any(device.name.startswith(("CUDA", "ROCm")) for device in devices)
    return not is_picky or model.n_head_dim in _FLASH_HEADS


def _rooms(
    hardware: HardwareReport, lines: Sequence[Line]
) -> tuple[tuple[Room, ...], tuple[Line, ...]]:
    """What each place needs and has, and the margins that are part of it."""
    rooms, margins = [], []
    unified = {device.name for device in hardware.gpus if device.is_unified}
    for where in dict.fromkeys(line.where for line in lines):
        needed, shared = sum(line.size_bytes for line in lines if line.where == where), 0
        if where == CPU:  # what lies on a unified GPU lies in this memory too
            shared = sum(line.size_bytes for line in lines if line.where in unified)
            known = hardware.memory.available_bytes
        else:
            known = next(d.free_bytes for d in hardware.devices if d.name == where)
        free = known if isinstance(known, int) else None
        margin = margin_bytes(free) if free else 0
        if margin:
            margins.append(Line("margin", where, margin))
        rooms.append(Room(where, needed + shared + margin, free, shared))
    return tuple(rooms), tuple(margins)
