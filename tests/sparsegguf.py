"""GGUF files of real models' sizes without their weights: a header, then a hole as large.

llama.cpp's dry runs (`no_alloc`) and edgespec's planner read headers only, so that 70 billion
parameters fit a test. The shapes are the published ones; the quantisation is uniform.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Quant

Tensor = tuple[str, tuple[int, ...], Quant]
"""Name, dimensions innermost first, and how it is stored."""


@dataclass(frozen=True)
class Sparse:
    """A model to be written."""

    arch: str
    n_layer: int
    n_embd: int
    n_head: int
    n_head_kv: int
    n_head_dim: int
    n_ff: int
    n_vocab: int
    n_ctx: int = 32_768
    quant: Quant = Quant.Q4_K
    is_tied: bool = False
    n_window: int = 0
    n_expert: int = 0
    n_expert_used: int = 0
    n_head_dim_window: int = 0
    """Of the layers with a window, where they differ."""
    n_shared: int = 0
    """Layers at the end that share an earlier one's cache."""
    n_per_layer: int = 0
    """Width of the embeddings that each layer has of its own."""


SPARSE = {
    "qwen3-0.6b": Sparse(
        "qwen3", 28, 1024, 16, 8, 128, 3072, 151_936, 40_960, Quant.Q8_0, is_tied=True
    ),
    "qwen3-14b": Sparse("qwen3", 40, 5120, 40, 8, 128, 17_408, 151_936, 40_960),
    "qwen2.5-32b": Sparse("qwen2", 64, 5120, 40, 8, 128, 27_648, 152_064),
    "llama-3.2-1b": Sparse(
        "llama", 16, 2048, 32, 8, 64, 8192, 128_256, 131_072, Quant.Q8_0, is_tied=True
    ),
    "llama-3.3-70b": Sparse("llama", 80, 8192, 64, 8, 128, 28_672, 128_256, 131_072),
    "gemma-3-12b": Sparse(
        "gemma3", 48, 3840, 16, 8, 256, 15_360, 262_144, 131_072, is_tied=True, n_window=1024
    ),
    "gemma-4-e4b": Sparse(
        "gemma4", 42, 2560, 8, 2, 512, 10_240, 262_144, 131_072, is_tied=True, n_window=512,
        n_head_dim_window=256, n_shared=18, n_per_layer=256,
    ),
    "qwen3.6-27b": Sparse("qwen35", 64, 5120, 24, 4, 256, 17_408, 248_320, 262_144),
    "qwen3-30b-a3b": Sparse(
        "qwen3moe", 48, 2048, 32, 4, 128, 768, 151_936, 40_960, n_expert=128, n_expert_used=8
    ),
    "gpt-oss-20b": Sparse(
        "gpt-oss", 24, 2880, 64, 8, 64, 2880, 201_088, 131_072, Quant.MXFP4,
        n_window=128, n_expert=32, n_expert_used=4,
    ),
}  # fmt: skip
_CONV, _STATE, _GROUPS, _HEADS = 4, 128, 16, 48
"""The linear layers of Qwen3.6 27B: kernel, state size, key heads, value heads."""


def write_sparse(path: Path, model: Sparse) -> Path:
    """Write the header and reserve the rest. Returns: `path`."""
    writer = gguf.GGUFWriter(path, model.arch)
    _describe(writer, model)
    n_data_bytes = 0
    for name, dims, quant in _tensors(model):
        block, block_bytes = gguf.GGML_QUANT_SIZES[quant]
        n_bytes = prod(dims) // block * block_bytes
        shape, element = tuple(reversed(dims)), np.dtype(np.float32)
        writer.add_tensor_info(name, shape, element, n_bytes, raw_dtype=quant)
        n_data_bytes += _padded(n_bytes)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        file.truncate(_padded(path.stat().st_size) + n_data_bytes)
    return path


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // 32) * 32


def _describe(writer: gguf.GGUFWriter, model: Sparse) -> None:
    writer.add_name(f"sparse-{model.arch}")
    writer.add_context_length(model.n_ctx)
    writer.add_embedding_length(model.n_embd)
    writer.add_block_count(model.n_layer)
    writer.add_feed_forward_length(model.n_ff)
    writer.add_head_count(model.n_head)
    writer.add_head_count_kv(model.n_head_kv)
    writer.add_key_length(model.n_head_dim)
    writer.add_value_length(model.n_head_dim)
    writer.add_rope_dimension_count(model.n_head_dim)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(model.n_vocab)
    writer.add_tokenizer_model("none")
    if model.n_window:
        writer.add_sliding_window(model.n_window)
    if model.n_expert:
        writer.add_expert_count(model.n_expert)
        writer.add_expert_used_count(model.n_expert_used)
        writer.add_expert_feed_forward_length(model.n_ff)
    if model.arch == "gemma4":
        writer.add_key_length_swa(model.n_head_dim_window)
        writer.add_value_length_swa(model.n_head_dim_window)
        writer.add_rope_dimension_count_swa(model.n_head_dim_window)
        writer.add_sliding_window_pattern([(i + 1) % 6 != 0 for i in range(model.n_layer)])
        writer.add_shared_kv_layers(model.n_shared)
        writer.add_embedding_length_per_layer_input(model.n_per_layer)
    if model.arch == "qwen35":
        writer.add_rope_dimension_sections([11, 11, 10, 0])
        writer.add_ssm_conv_kernel(_CONV)
        writer.add_ssm_state_size(_STATE)
        writer.add_ssm_group_count(_GROUPS)
        writer.add_ssm_time_step_rank(_HEADS)
        writer.add_ssm_inner_size(_HEADS * _STATE)


def _tensors(model: Sparse) -> Iterator[Tensor]:
    n = model.n_embd
    table = Quant.Q6_K if n % 256 == 0 else Quant.Q8_0
    yield "token_embd.weight", (n, model.n_vocab), table
    if not model.is_tied:
        yield "output.weight", (n, model.n_vocab), table
    yield "output_norm.weight", (n,), Quant.F32
    if width := model.n_per_layer * model.n_layer:
        yield "per_layer_token_embd.weight", (width, model.n_vocab), table
        yield "per_layer_model_proj.weight", (n, width), Quant.F16
        yield "per_layer_proj_norm.weight", (model.n_per_layer,), Quant.F32
        yield "rope_freqs.weight", (model.n_head_dim // 2,), Quant.F32
    for i in range(model.n_layer):
        for name, dims, quant in _layer(model, i):
            yield f"blk.{i}.{name}", dims, quant


def _layer(model: Sparse, i: int) -> Iterator[Tensor]:
    n, matrix = model.n_embd, model.quant if model.n_embd % 256 == 0 else Quant.Q8_0
    yield "attn_norm.weight", (n,), Quant.F32
    if model.arch == "qwen35":
        yield "post_attention_norm.weight", (n,), Quant.F32
        is_linear = (i + 1) % 4 != 0
        yield from _linear(n, matrix) if is_linear else _attention(model, i, matrix, n_gates=2)
    else:
        yield from _attention(model, i, matrix)
    yield from _experts(model) if model.n_expert else _feed_forward(model, matrix)


def _attention(model: Sparse, i: int, matrix: Quant, n_gates: int = 1) -> Iterator[Tensor]:
    n, dim = model.n_embd, model.n_head_dim
    if model.n_head_dim_window and (i + 1) % 6:
        dim = model.n_head_dim_window
    n_q, n_kv = model.n_head * dim, model.n_head_kv * dim
    for name, width in (("attn_q", n_q * n_gates), ("attn_k", n_kv), ("attn_v", n_kv)):
        yield f"{name}.weight", (n, width), matrix
        if model.arch in ("qwen2", "gpt-oss"):
            yield f"{name}.bias", (width,), Quant.F32
    yield "attn_output.weight", (n_q, n), matrix
    if model.arch in ("qwen3", "qwen3moe", "gemma3", "gemma4", "qwen35"):
        yield "attn_q_norm.weight", (dim,), Quant.F32
        yield "attn_k_norm.weight", (dim,), Quant.F32
    if model.arch == "gpt-oss":
        yield "attn_output.bias", (n,), Quant.F32
        yield "attn_sinks.weight", (model.n_head,), Quant.F32


def _linear(n: int, matrix: Quant) -> Iterator[Tensor]:
    """Qwen3.5's layers with a state."""
    n_value, n_key = _HEADS * _STATE, _GROUPS * _STATE
    yield "attn_qkv.weight", (n, 2 * n_key + n_value), matrix
    yield "attn_gate.weight", (n, n_value), matrix
    yield "ssm_conv1d.weight", (_CONV, 2 * n_key + n_value), Quant.F32
    yield "ssm_dt.bias", (_HEADS,), Quant.F32
    yield "ssm_a", (_HEADS,), Quant.F32
    yield "ssm_beta.weight", (n, _HEADS), Quant.F32
    yield "ssm_alpha.weight", (n, _HEADS), Quant.F32
    yield "ssm_norm.weight", (_STATE,), Quant.F32
    yield "ssm_out.weight", (n_value, n), matrix


def _feed_forward(model: Sparse, matrix: Quant) -> Iterator[Tensor]:
    n = model.n_embd
    if model.arch != "qwen35":
        yield "ffn_norm.weight", (n,), Quant.F32
    if model.arch in ("gemma3", "gemma4"):
        yield "post_attention_norm.weight", (n,), Quant.F32
        yield "post_ffw_norm.weight", (n,), Quant.F32
    if width := model.n_per_layer:
        yield "inp_gate.weight", (n, width), matrix
        yield "proj.weight", (width, n), matrix
        yield "post_norm.weight", (n,), Quant.F32
    yield "ffn_gate.weight", (n, model.n_ff), matrix
    yield "ffn_up.weight", (n, model.n_ff), matrix
    yield "ffn_down.weight", (model.n_ff, n), matrix


def _experts(model: Sparse) -> Iterator[Tensor]:
    n, n_expert, has_bias = model.n_embd, model.n_expert, model.arch == "gpt-oss"
    yield "post_attention_norm.weight" if has_bias else "ffn_norm.weight", (n,), Quant.F32
    yield "ffn_gate_inp.weight", (n, n_expert), Quant.F32
    if has_bias:
        yield "ffn_gate_inp.bias", (n_expert,), Quant.F32
    shapes = (("gate", n, model.n_ff), ("up", n, model.n_ff), ("down", model.n_ff, n))
    for name, n_in, n_out in shapes:
        yield f"ffn_{name}_exps.weight", (n_in, n_out, n_expert), model.quant
        if has_bias:
            yield f"ffn_{name}_exps.bias", (n_out, n_expert), Quant.F32
