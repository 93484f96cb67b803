"""Machines that are not here, to plan for: graphics cards, Apple's chips, a CPU alone.

Names: `rtx4090`, `2x-rtx4090`, `m4-max-64` (chip and gigabytes), `cpu-32`, `16gb` (any card of that
size). Memory is what the vendor states, as on an idle machine.

Sources: vendors' data sheets (NVIDIA, AMD), in agreement with the hardware table of llmfit; Apple's
working-set limit from logs of llama.cpp: two thirds of the memory up to 32 GB, three quarters
above (ggml-org/llama.cpp issues; `sudo sysctl iogpu.wired_limit_mb` raises it). The CUDA context:
0.3 to 0.5 GiB per card and process, in the same logs.
"""

import difflib
import re
from typing import Final

from edgespec.errors import UsageError
from edgespec.hardware.types import Cpu, Device, HardwareReport, Memory, Unknown

GIB: Final = 1 << 30
CUDA_CONTEXT_BYTES: Final = 460 << 20
_HOST_GIB: Final = 64
"""The machine's own memory where the name does not say: two to three times a large card's."""
_FREE_SHARE: Final = 0.9
"""Of the machine's memory, on an idle one."""
_MOST_CARDS: Final = 8

CARDS: Final[dict[str, tuple[str, int]]] = {
    "rtx5090": ("NVIDIA GeForce RTX 5090", 32),
    "rtx5080": ("NVIDIA GeForce RTX 5080", 16),
    "rtx5070ti": ("NVIDIA GeForce RTX 5070 Ti", 16),
    "rtx5070": ("NVIDIA GeForce RTX 5070", 12),
    "rtx5060ti": ("NVIDIA GeForce RTX 5060 Ti", 16),
    "rtx5060": ("NVIDIA GeForce RTX 5060", 8),
    "rtx4090": ("NVIDIA GeForce RTX 4090", 24),
    "rtx4080-super": ("NVIDIA GeForce RTX 4080 SUPER", 16),
    "rtx4080": ("NVIDIA GeForce RTX 4080", 16),
    "rtx4070ti-super": ("NVIDIA GeForce RTX 4070 Ti SUPER", 16),
    "rtx4070ti": ("NVIDIA GeForce RTX 4070 Ti", 12),
    "rtx4070-super": ("NVIDIA GeForce RTX 4070 SUPER", 12),
    "rtx4070": ("NVIDIA GeForce RTX 4070", 12),
    "rtx4060ti": ("NVIDIA GeForce RTX 4060 Ti", 8),
    "rtx4060": ("NVIDIA GeForce RTX 4060", 8),
    "rtx3090ti": ("NVIDIA GeForce RTX 3090 Ti", 24),
    "rtx3090": ("NVIDIA GeForce RTX 3090", 24),
    "rtx3080ti": ("NVIDIA GeForce RTX 3080 Ti", 12),
    "rtx3080": ("NVIDIA GeForce RTX 3080", 10),
    "rtx3070": ("NVIDIA GeForce RTX 3070", 8),
    "rtx3060ti": ("NVIDIA GeForce RTX 3060 Ti", 8),
    "rtx3060": ("NVIDIA GeForce RTX 3060", 12),
    "rx7900xtx": ("AMD Radeon RX 7900 XTX", 24),
    "rx7800xt": ("AMD Radeon RX 7800 XT", 16),
    "l4": ("NVIDIA L4", 24),
    "a100-40": ("NVIDIA A100 40 GB", 40),
    "a100-80": ("NVIDIA A100 80 GB", 80),
    "h100": ("NVIDIA H100", 80),
    "h200": ("NVIDIA H200", 141),
    "rtxpro6000": ("NVIDIA RTX PRO 6000 Blackwell", 96),
    "32gb": ("a card with 32 GB", 32),
    "24gb": ("a card with 24 GB", 24),
    "16gb": ("a card with 16 GB", 16),
    "12gb": ("a card with 12 GB", 12),
    "8gb": ("a card with 8 GB", 8),
}
"""Title and memory in GiB, by name."""
_BY_LETTERS: Final = {name.replace("-", ""): name for name in CARDS}

_APPLE = re.compile(r"(m[1-5](?:-pro|-max|-ultra)?)-([1-9]\d{0,4})")
_CPU = re.compile(r"cpu-([1-9]\d{0,4})")
_SEVERAL = re.compile(r"(\d+)x-?(.+)")


def machine(name: str) -> HardwareReport:
    """The machine called `name`. Raises: `UsageError` with the nearest names."""
    key = name.strip().lower().replace("_", "-").replace(" ", "-")
    if found := _CPU.fullmatch(key):
        return _report(key, int(found[1]), ())
    if found := _APPLE.fullmatch(key):
        return _apple(key, found[1], int(found[2]))
    several = _SEVERAL.fullmatch(key)
    n, card = (int(several[1]), several[2]) if several else (1, key)
    known = _BY_LETTERS.get(card.replace("-", ""))
    if known and 1 <= n <= _MOST_CARDS:
        title = f"{n}x-{known}" if several else known
        return _report(title, _HOST_GIB, tuple(_card(i, *CARDS[known]) for i in range(n)))
    near = difflib.get_close_matches(card, CARDS, n=3)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(
        f"no machine is called {name!r}",
        hint=f"{meant}there are {', '.join(CARDS)}, each also as 2x-NAME; m4-max-64; cpu-32",
    )


def _card(i: int, title: str, memory_gib: int) -> Device:
    size = memory_gib * GIB
    backend = "ROCm" if title.startswith("AMD") else "CUDA"
    return Device(f"{backend}{i}", title, "GPU", size, size, overhead_bytes=CUDA_CONTEXT_BYTES)


def _apple(name: str, chip: str, memory_gib: int) -> HardwareReport:
    share = 2 / 3 if memory_gib <= 32 else 3 / 4
    size = int(memory_gib * GIB * share)
    title = f"Apple {chip.replace('-', ' ').title()}"
    gpu = Device("MTL0", title, "GPU", size, size, is_unified=True)
    return _report(name, memory_gib, (gpu,), "arm64")


def _report(
    name: str, memory_gib: int, gpus: tuple[Device, ...], machine: str = "x86_64"
) -> HardwareReport:
    total = memory_gib * GIB
    available = int(total * _FREE_SHARE)
    unknown = Unknown("the machine is not here")
    cpu = Cpu(unknown, machine, 8, 8, None, 8, unknown)
    host = Device("CPU", "the processor", "CPU", available, total)
    return HardwareReport(name, cpu, Memory(total, available, ""), (*gpus, host))
