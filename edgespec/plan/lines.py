"""A placement in bytes, line by line: which part lies where.

Pure. Layers are counted as llama.cpp counts them: the repeating ones, then the output.

Source: llama.cpp src/llama-model.cpp (load_tensors: split points, input on the CPU),
ggml/src/ggml-backend.cpp (copies of inputs and weights between devices).
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from edgespec.hardware.types import Device, HardwareReport
from edgespec.plan import buffers
from edgespec.plan.types import Line, ModelSizes, Placement, is_quantised

CPU: Final = "CPU"
_REMOTE: Final = "RPC"
_ASYNC: Final = ("CUDA", "ROCm", "Vulkan", "SYCL", _REMOTE)
"""Backends that can compute one pass while they take in the next."""
_N_COPIES: Final = 4
_PARTLY: Final = ("CUDA", "ROCm")
"""Backends that turn a quantised cache into half precision to read a prompt."""
_VOCABULARY_BYTES_PER_TOKEN: Final = 228
"""Measured: 33 MiB for Qwen2.5's 151,936 tokens."""


def owners(model: ModelSizes, placement: Placement) -> tuple[str, ...]:
    """Where each layer lies, the output last."""
    n_all = len(model.layers) + 1
    if not placement.devices or not placement.n_gpu_layers:
        return (CPU,) * n_all
    n_placed = min(placement.n_gpu_layers, n_all)
    ends = tuple(accumulate(placement.split))
    placed = (
        placement.devices[min(sum(end <= i / n_placed for end in ends), len(ends) - 1)]
        for i in range(n_placed)
    )
    return (*(CPU,) * (n_all - n_placed), *placed)


def shares(counts: Sequence[int]) -> tuple[float, ...]:
    """The split with which llama.cpp gives each device so many layers; sums to 1.

    The borders lie between two layers, where no rounding moves one.
    """
    total, last = sum(counts), len(counts) - 1
    ends = [
        max(0.0, end - 0.5) / total if i < last else 1.0 for i, end in enumerate(accumulate(counts))
    ]
    return tuple(end - start for start, end in zip([0.0, *ends[:-1]], ends, strict=True))


def model_lines(role: str, model: ModelSizes, placement: Placement) -> Iterator[Line]:
    """The parts of one model, `role` being "target" or "draft", where there are any bytes."""
    if placement.split_mode == "tensor":
        yield from _shared_lines(role, model, placement)
        return
    places = owners(model, placement)
    for where in dict.fromkeys((*placement.devices, CPU)):
        mine = [layer for layer, at in zip(model.layers, places, strict=False) if at == where]
        kv = sum(buffers.kv_bytes(model, layer, placement) for layer in mine)
        state = sum(buffers.state_bytes(layer, placement) for layer in mine)
        sizes = {
            "weights": _weights(model, places, where),
            f"KV {placement.kv_type}": kv,
            "state": state,
            "compute": _compute(model, placement, places, where),
            "output": buffers.output_bytes(model, placement) if where == CPU else 0,
            "vocabulary": _vocabulary_bytes(role, model) if where == CPU else 0,
            "KV conversion": _conversion(placement, where, model),
        }
        yield from (Line(f"{role} {what}", where, n) for what, n in sizes.items() if n)


def _shared_lines(role: str, model: ModelSizes, placement: Placement) -> Iterator[Line]:
    """In tensor mode: every matrix and cache in shares, the buffers whole on every device."""
    weights = model.weight_bytes
    kv = sum(buffers.kv_bytes(model, layer, placement) for layer in model.layers)
    state = sum(buffers.state_bytes(layer, placement) for layer in model.layers)
    compute = buffers.compute_bytes(model, placement, is_last=True)
    parts = (("weights", weights), (f"KV {placement.kv_type}", kv), ("state", state))
    for where, share in zip(placement.devices, placement.split, strict=True):
        yield from (Line(f"{role} {what}", where, round(n * share)) for what, n in parts if n)
        yield Line(f"{role} compute", where, compute)
    yield Line(f"{role} weights", CPU, model.input_bytes)
    yield Line(f"{role} compute", CPU, _host_compute(model, placement))
    yield Line(f"{role} output", CPU, buffers.output_bytes(model, placement))
    yield Line(f"{role} vocabulary", CPU, _vocabulary_bytes(role, model))


def overhead_lines(hardware: HardwareReport, used: Sequence[str]) -> Iterator[Line]:
    """What the backends of the devices in use take for themselves."""
    for device in hardware.devices:
        if device.name in used and device.overhead_bytes:
            yield Line("backend overhead", device.name, device.overhead_bytes)


def margin_bytes(free_bytes: int) -> int:
    """What is left free: other programs, what llama.cpp allocates while it computes."""
    return min(1 << 30, free_bytes // 8)


def free_for(size_bytes: int) -> int:
    """The free memory that so much needs, its margin included."""
    return min(size_bytes + (1 << 30), -(-size_bytes * 8 // 7))


def is_remote(name: str) -> bool:
    """Whether a device is another machine's."""
    return name.startswith(_REMOTE)


def free_of(device: Device) -> int:
    """The device's free memory; 0 where the backend does not say."""
    return device.free_bytes if isinstance(device.free_bytes, int) else 0


def _weights(model: ModelSizes, places: Sequence[str], where: str) -> int:
    *layers, output = places
    total = sum(
        layer.weight_bytes for layer, at in zip(model.layers, layers, strict=True) if at == where
    )
    total += model.output_bytes if output == where else 0
    if where == CPU:
        total += model.input_bytes - (model.tied_bytes if output == CPU else 0)
    return total


def _compute(model: ModelSizes, placement: Placement, places: Sequence[str], where: str) -> int:
    """The compute buffer of one place, with the copies that cross between places."""
    is_last = places[-1] == where
    if where == CPU:
        if where in places:
            return buffers.compute_bytes(model, placement, is_last=is_last)
        return _host_compute(model, placement)
    if where not in places:
        return 0
    mask, hidden = (f(model, placement) for f in (buffers.mask_bytes, buffers.hidden_bytes))
    total = buffers.compute_bytes(model, placement, is_last=is_last) - hidden
    if _is_pipelined(model, placement):
        is_first = where == placement.devices[0]
        total += (_N_COPIES - 1) * mask + _N_COPIES * hidden * (1 if is_first else 2)
    if CPU in places and not is_remote(where):
        total += model.largest_bytes  # of the CPU's layers, for long batches, one at a time
    return total


def _host_compute(model: ModelSizes, placement: Placement) -> int:
    """What the CPU computes with where all layers lie elsewhere: inputs, and their copies."""
    mask, hidden = (f(model, placement) for f in (buffers.mask_bytes, buffers.hidden_bytes))
    n_copies = _N_COPIES if _is_pipelined(model, placement) else 1
    return n_copies * (mask + hidden) + hidden


def _is_pipelined(model: ModelSizes, placement: Placement) -> bool:
    """Whether llama.cpp keeps several passes in flight, each with inputs of its own."""
    is_split = placement.split_mode == "layer" and len(placement.devices) > 1
    is_async = all(name.startswith(_ASYNC) for name in placement.devices)
    return is_split and is_async and placement.n_gpu_layers > len(model.layers)


def _vocabulary_bytes(role: str, model: ModelSizes) -> int:
    """Texts and merges in llama.cpp's tables; a draft that shares its target's vocabulary is loaded
    without (engine/model.py)."""
    has_texts = role == "target" or model.is_foreign
    return model.n_vocab * _VOCABULARY_BYTES_PER_TOKEN if has_texts else 0


def _conversion(placement: Placement, where: str, model: ModelSizes) -> int:
    """One layer's cache in half precision, which such backends need beside a quantised one."""
    if not is_quantised(placement.kv_type) or not where.startswith(_PARTLY):
        return 0
    width = max((layer.n_embd_k + layer.n_embd_v for layer in model.layers), default=0)
    return buffers.n_cells(placement.n_ctx) * width * 2
