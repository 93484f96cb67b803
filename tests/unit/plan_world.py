"""A machine, a target and two drafts to plan with: round sizes, and no file."""

from dataclasses import replace

from edgespec.hardware.types import Cpu, Device, HardwareReport, Memory
from edgespec.plan.types import Asked, LayerSizes, ModelSizes, Plan, PlanRequest

MIB, GIB = 1 << 20, 1 << 30
CPU = Cpu("a processor", "x86_64", 8, 16, None, 8, ())


def model(
    id: str, layer_mib: int = 100, n_layer: int = 32, *, n_head_dim: int = 128, window: int = 0
) -> ModelSizes:
    """A dense model with a cache of 4 KiB per token and layer."""
    layer = LayerSizes(layer_mib * MIB, 1024, 1024, window)
    return ModelSizes(
        id=id, architecture="llama", layers=(layer,) * n_layer, input_bytes=300 * MIB,
        output_bytes=400 * MIB, tied_bytes=0, n_params=7_000_000_000, n_vocab=128_000,
        n_embd=4096, n_head=32, n_head_dim=n_head_dim, n_ff=14_336, n_ctx_train=131_072,
        largest_bytes=40 * MIB,
    )  # fmt: skip


TARGET = model("big")
DRAFT = model("small", layer_mib=30, n_layer=16)
TINY = model("tiny", layer_mib=5, n_layer=8)


def gpu(name: str, free_mib: float, **more: object) -> Device:
    free = int(free_mib * MIB)
    return replace(Device(name, "a card", "GPU", free, free), **more)  # type: ignore[arg-type]


def machine(*gpus: Device, ram_gib: float = 64) -> HardwareReport:
    ram = int(ram_gib * GIB)
    return HardwareReport("a machine", CPU, Memory(ram, ram, ""), gpus)


def request(
    *gpus: Device,
    asked: Asked = Asked(),
    drafts: tuple[ModelSizes, ...] = (DRAFT, TINY),
    ram_gib: float = 64,
) -> PlanRequest:
    return PlanRequest(machine(*gpus, ram_gib=ram_gib), TARGET, drafts, asked)


def kinds(plan: Plan) -> list[str]:
    return [rung.kind for rung in plan.rungs]
