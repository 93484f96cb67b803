"""Compute buffers where layers lie on devices: what dry runs over two loopback workers sized.

The figures are llama.cpp's own ("compute buffer size"), from a build with GGML_RPC, whose devices
take layers, splits and copies as GPUs do; 512 rows a batch, 64 with logits.
"""

from pathlib import Path

import pytest

from edgespec.gguf.header import read_header
from edgespec.plan.lines import model_lines, shares
from edgespec.plan.sizes import sizes_of
from edgespec.plan.types import KvType, Placement
from tests.sparsegguf import SPARSE, write_sparse

MIB = 1 << 20
MEASURED: tuple[tuple[str, tuple[int, ...], int, KvType, tuple[float, ...]], ...] = (
    ("qwen3-14b", (41,), 8192, "f16", (140.01, 28.01)),
    ("qwen3-14b", (41,), 32_768, "q8_0", (154.09, 52.09)),
    ("qwen3-14b", (13, 28), 8192, "f16", (204.04, 244.04, 82.05)),
    ("qwen3-14b", (13, 28), 32_768, "q8_0", (290.35, 330.35, 178.36)),
    ("qwen3-14b", (20,), 8192, "f16", (130.01, 150.01)),
    ("qwen3-14b", (10, 10), 32_768, "q8_0", (154.09, 154.09, 164.09)),
    ("llama-3.3-70b", (81,), 8192, "f16", (224.01, 40.01)),
    ("llama-3.3-70b", (27, 54), 8192, "f16", (312.04, 376.04, 112.05)),
    ("llama-3.3-70b", (27, 54), 32_768, "q8_0", (392.35, 456.35, 208.36)),
    ("llama-3.3-70b", (20, 20), 8192, "f16", (208.01, 208.01, 240.01)),
    ("gemma-3-12b", (49,), 8192, "f16", (122.52, 24.52)),
    ("gemma-3-12b", (16, 33), 32_768, "q8_0", (279.20, 309.20, 173.70)),
    ("gemma-3-12b", (24,), 8192, "f16", (114.52, 130.02)),
    ("qwen3.6-27b", (65,), 8192, "f16", (130.02, 28.02)),
    ("qwen3.6-27b", (21, 44), 32_768, "q8_0", (291.13, 331.13, 179.13)),
    ("qwen3.6-27b", (32,), 8192, "f16", (130.02, 140.02)),
)
"""Model, layers by device, context, cache, and MiB by device, the CPU's last."""


@pytest.mark.parametrize(("name", "counts", "n_ctx", "kv_type", "sizes"), MEASURED)
def test_compute_buffers_of_split_models_are_as_llama_cpp_sized_them(
    name: str,
    counts: tuple[int, ...],
    n_ctx: int,
    kv_type: KvType,
    sizes: tuple[float, ...],
    tmp_path: Path,
) -> None:
    model = sizes_of(read_header(write_sparse(tmp_path / "model.gguf", SPARSE[name])), name)
    devices = ("RPC0", "RPC1")[: len(counts)]
    mode = "layer" if len(counts) > 1 else "none"
    placement = Placement(
        devices, shares(counts), sum(counts), mode, n_ctx, 512, 64, kv_type  # type: ignore[arg-type]
    )  # fmt: skip

    planned = {
        line.where: line.size_bytes / MIB
        for line in model_lines("target", model, placement)
        if line.what == "target compute"
    }

    for where, size in zip((*devices, "CPU"), sizes, strict=True):
        assert planned[where] == pytest.approx(size, abs=16, rel=0.03)
