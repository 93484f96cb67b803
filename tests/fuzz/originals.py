"""Sound tiny models to mutate: each kind of memory, of vocabulary and of feed-forward once."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgespec.models.pairing import byte_letters
from tests.fuzz.anatomy import Anatomy, dissect
from tests.tinygguf import (
    CONTROL,
    EOS,
    NORMAL,
    VOCAB,
    TinyFile,
    Weights,
    write_gemma3,
    write_hybrid,
)
from tests.tinygguf import write_llama as _llama
from tests.tinygguf import write_mamba as _mamba


def write_qwen3moe(path: Path) -> Path:
    """Experts, norms of the heads, and a byte-pair vocabulary."""
    n_embd, n_ff, n_expert = 64, 32, 4
    letters = [*byte_letters(), "th", "Ġt", "Ġth", "<|im_start|>", "<|im_end|>"]
    file = TinyFile(path, "qwen3moe", Weights(0, 0.0), n_embd)
    file.describe(n_ctx=512, n_layer=2, n_ff=n_ff)
    file.add_heads(4, 2)
    file.meta.add_key_length(16)
    file.meta.add_value_length(16)
    file.meta.add_expert_count(n_expert)
    file.meta.add_expert_used_count(2)
    file.meta.add_expert_feed_forward_length(n_ff)
    file.meta.add_tokenizer_model("gpt2")
    file.meta.add_tokenizer_pre("qwen2")
    file.meta.add_token_list(letters)
    file.meta.add_token_types([NORMAL] * (len(letters) - 2) + [CONTROL] * 2)
    file.meta.add_token_merges(["t h", "Ġ t", "Ġ th"])
    file.meta.add_eos_token_id(len(letters) - 1)
    file.meta.add_add_bos_token(False)
    for name in ("token_embd", "output"):
        file.add_matrix(name, len(letters), n_embd)
    file.add_norm("output_norm.weight", n_embd)
    for layer in range(2):
        block = f"blk.{layer}"
        file.add_norm(f"{block}.attn_norm.weight", n_embd)
        file.add_attention(layer, 4, 2)
        file.add_head_norms(layer, 16)
        file.add_norm(f"{block}.ffn_norm.weight", n_embd)
        file.add_matrix(f"{block}.ffn_gate_inp", n_expert, n_embd)
        for name, n_out, n_in in (("gate", n_ff, n_embd), ("up", n_ff, n_embd),
                                  ("down", n_embd, n_ff)):  # fmt: skip
            shape = (n_expert, n_out, n_in)
            experts = file.weights.normal(f"{block}.{name}", shape, n_in**-0.5)
            file.add(f"{block}.ffn_{name}_exps.weight", experts.astype(np.float32))
    return file.write()


def write_qwen3(path: Path) -> Path:
    """A dense transformer with norms of the heads."""
    file = TinyFile(path, "qwen3", Weights(0, 0.0), 64)
    file.describe(n_ctx=512, n_layer=2, n_ff=48)
    file.add_heads(4, 2)
    file.meta.add_key_length(16)
    file.meta.add_value_length(16)
    _add_vocab_and_ends(file)
    for layer in range(2):
        file.add_norm(f"blk.{layer}.attn_norm.weight", 64)
        file.add_attention(layer, 4, 2)
        file.add_head_norms(layer, 16)
        file.add_feed_forward(layer, 48)
    return file.write()


def write_qwen35(path: Path) -> Path:
    """Gated delta nets, every second layer attention with a gate: Qwen3.5 to 3.8."""
    n_embd, n_state, n_v_heads, n_groups, n_conv = 64, 16, 4, 2, 4
    n_key, n_value = n_state * n_groups, n_state * n_v_heads
    file = TinyFile(path, "qwen35", Weights(0, 0.0), n_embd)
    file.describe(n_ctx=512, n_layer=2, n_ff=48)
    file.add_heads(4, 2)
    file.meta.add_key_length(16)
    file.meta.add_value_length(16)
    file.meta.add_rope_dimension_sections([4, 2, 2, 0])
    file.meta.add_ssm_conv_kernel(n_conv)
    file.meta.add_ssm_inner_size(n_value)
    file.meta.add_ssm_state_size(n_state)
    file.meta.add_ssm_time_step_rank(n_v_heads)
    file.meta.add_ssm_group_count(n_groups)
    file.meta.add_full_attention_interval(2)
    _add_vocab_and_ends(file)
    for layer in range(2):
        block = f"blk.{layer}"
        for norm in ("attn_norm", "post_attention_norm"):
            file.add_norm(f"{block}.{norm}.weight", n_embd)
        if layer % 2:
            file.add_matrix(f"{block}.attn_q", 2 * n_embd, n_embd)
            file.add_matrix(f"{block}.attn_k", 32, n_embd)
            file.add_matrix(f"{block}.attn_v", 32, n_embd)
            file.add_matrix(f"{block}.attn_output", n_embd, n_embd)
            file.add_head_norms(layer, 16)
        else:
            file.add_matrix(f"{block}.attn_qkv", 2 * n_key + n_value, n_embd)
            file.add_matrix(f"{block}.attn_gate", n_value, n_embd)
            file.add_matrix(f"{block}.ssm_conv1d", 2 * n_key + n_value, n_conv)
            file.add_norm(f"{block}.ssm_dt.bias", n_v_heads)
            file.add_norm(f"{block}.ssm_a", n_v_heads)
            file.add_matrix(f"{block}.ssm_beta", n_v_heads, n_embd)
            file.add_matrix(f"{block}.ssm_alpha", n_v_heads, n_embd)
            file.add_norm(f"{block}.ssm_norm.weight", n_state)
            file.add_matrix(f"{block}.ssm_out", n_embd, n_value)
        for name, n_out, n_in in (("gate", 48, 64), ("up", 48, 64), ("down", 64, 48)):
            file.add_matrix(f"{block}.ffn_{name}", n_out, n_in)
    return file.write()


def write_phi3(path: Path, *, has_queries: bool = True) -> Path:
    """Fused matrices; without its queries, llama.cpp loads it and dies in its first pass."""
    file = TinyFile(path, "phi3", Weights(0, 0.0), 64)
    file.describe(n_ctx=512, n_layer=2, n_ff=48)
    # llama.cpp looks for Phi's own tokens in a model with that name.
    file.meta.kv_data[0]["general.name"].value = "tiny"
    file.add_heads(4, 4)
    _add_vocab_and_ends(file)
    for layer in range(2):
        for norm in ("attn_norm", "ffn_norm"):
            file.add_norm(f"blk.{layer}.{norm}.weight", 64)
        if has_queries:
            file.add_matrix(f"blk.{layer}.attn_qkv", 3 * 64, 64)
        file.add_matrix(f"blk.{layer}.attn_output", 64, 64)
        file.add_matrix(f"blk.{layer}.ffn_up", 2 * 48, 64)
        file.add_matrix(f"blk.{layer}.ffn_down", 64, 48)
    return file.write()


def _add_vocab_and_ends(file: TinyFile) -> None:
    file.add_vocab(VOCAB, eos=EOS, add_bos=False, template=None)
    file.add_ends(VOCAB, 1.5)


WRITERS: tuple[Callable[[Path], Path], ...] = (
    _llama,
    write_gemma3,
    write_hybrid,
    _mamba,
    write_qwen3moe,
    write_qwen3,
    write_qwen35,
)


def originals(folder: Path) -> list[Anatomy]:
    """All of them, taken apart."""
    return [dissect(write(folder / "original.gguf").read_bytes()) for write in WRITERS]
