"""llama.cpp's own sizes of a model's buffers, from dry runs or real loads; nothing is computed.

A dry run (`no_alloc`) sizes every buffer as a real load does.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from edgespec.engine import binding
from edgespec.engine.allocation import allocations
from edgespec.plan.lines import model_lines
from edgespec.plan.types import KvType, ModelSizes, Placement

MIB = 1 << 20
TOLERANCE = 0.03
LEAST_TOLERANCE_BYTES = 16 * MIB
_CACHE = re.compile(r"size =\s+([\d.]+) MiB \(\s*\d+ cells")
_KV_TYPES: dict[KvType, int] = {"f16": 1, "q8_0": 8, "q4_0": 2}  # ggml.h, enum ggml_type


@contextmanager
def loaded(path: Path, *, no_alloc: bool) -> Iterator[tuple[Any, list[str]]]:
    """A native model, and what llama.cpp said while it loaded."""
    lib = binding.lib()
    params = lib.llama_model_default_params()
    params.no_alloc, params.use_extra_bufts = no_alloc, False
    params.load_mode = lib.LLAMA_LOAD_MODE_NONE
    params.n_gpu_layers = 0
    with binding.heard() as lines:
        handle = lib.llama_model_load_from_file(os.fsencode(path), params)
    assert handle, binding.error_tail()
    try:
        yield handle, lines
    finally:
        lib.llama_model_free(handle)


def context_lines(model: Any, placement: Placement) -> list[str]:
    """What llama.cpp says while it makes a context like this, which is freed at once."""
    lib = binding.lib()
    params = lib.llama_context_default_params()
    params.n_ctx = placement.n_ctx
    params.n_batch = params.n_ubatch = placement.n_batch
    params.n_outputs_max = params.n_outputs_max_per_seq = placement.max_logits
    params.n_rs_seq = placement.n_snapshots
    params.n_threads = params.n_threads_batch = 1
    params.type_k = params.type_v = _KV_TYPES[placement.kv_type]
    params.flash_attn_type = int(placement.flash_attention)
    params.n_seq_max = 1 + placement.max_branches
    params.kv_unified = params.swa_full = placement.max_branches > 0
    with binding.heard() as lines:
        context = lib.llama_init_from_model(model, params)
    assert context, binding.error_tail()
    lib.llama_free(context)
    return lines


def measured(lines: list[str]) -> dict[str, int]:
    """Bytes of caches (states included) and compute buffers that these lines tell of."""
    caches = sum(float(found[1]) for line in lines if (found := _CACHE.search(line)))
    compute = sum(a.size_bytes for a in allocations(lines) if a.what == "compute")
    return {"caches": round(caches * MIB), "compute": compute}


def weights_bytes(lines: list[str]) -> int:
    """Bytes of weights that these lines of a load tell of."""
    return sum(a.size_bytes for a in allocations(lines) if a.what == "weights")


def planned(model: ModelSizes, placement: Placement) -> dict[str, int]:
    """The same of the plan's lines."""
    found = {"caches": 0, "compute": 0, "weights": 0}
    for line in model_lines("target", model, placement):
        what = line.what.removeprefix("target ").split()[0]
        kind = "caches" if what in ("KV", "state") else what
        found[kind] = found.get(kind, 0) + line.size_bytes
    return found


def on_cpu(
    n_ctx: int,
    n_batch: int,
    kv_type: KvType = "f16",
    *,
    max_logits: int = 64,
    n_snapshots: int = 0,
    max_branches: int = 0,
    flash_attention: bool = True,
) -> Placement:
    return Placement(
        (), (), 0, "none", n_ctx, n_batch, max_logits, kv_type, n_snapshots, max_branches,
        flash_attention,
    )  # fmt: skip


def assert_close(mine: dict[str, int], theirs: dict[str, int]) -> None:
    assert mine["caches"] == pytest.approx(theirs["caches"], abs=0.02 * MIB)  # as it is printed
    allowed = max(LEAST_TOLERANCE_BYTES, TOLERANCE * theirs["compute"])
    assert mine["compute"] == pytest.approx(theirs["compute"], abs=allowed)
