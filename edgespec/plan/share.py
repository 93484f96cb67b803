"""How several devices share one model, by the memory that is left on each."""

from collections.abc import Sequence

from edgespec.hardware.types import Device
from edgespec.plan.lines import free_of, margin_bytes
from edgespec.plan.types import Line, ModelSizes


def even_shares(devices: tuple[Device, ...], taken: Sequence[Line]) -> tuple[float, ...]:
    """The share of every matrix that each device takes: by its space."""
    spaces = _space(devices, taken)
    total = sum(spaces)
    return tuple(space / total if total else 1 / len(devices) for space in spaces)


def layer_counts(
    model: ModelSizes,
    n_layers: int,
    devices: tuple[Device, ...],
    taken: Sequence[Line],
    shift: int,
) -> list[int]:
    """Layers of each device, by its space; then `shift` of them go from the last to the first."""
    n_all = len(model.layers) + 1
    n_placed = min(n_layers, n_all)
    weights = [*(layer.weight_bytes for layer in model.layers), model.output_bytes][-n_placed:]
    rooms = _space(devices, taken)
    total_room, total = max(1, sum(rooms)), sum(weights)
    counts, at, passed, reached = [], 0, 0, 0.0
    for room in rooms:
        reached += total * room / total_room
        start = at
        while at < n_placed and passed + weights[at] / 2 <= reached:
            passed += weights[at]
            at += 1
        counts.append(at - start)
    counts[-1] += n_placed - at
    if shift and min(counts[0] + shift, counts[-1] - shift) > 0:
        counts[0] += shift
        counts[-1] -= shift
    return counts


def _space(devices: tuple[Device, ...], taken: Sequence[Line]) -> list[int]:
    """What is left on each device beside what it holds anyway."""
    spaces = []
    for device in devices:
        free = free_of(device)
        used = sum(line.size_bytes for line in taken if line.where == device.name)
        spaces.append(max(0, free - margin_bytes(free) - device.overhead_bytes - used))
    return spaces
