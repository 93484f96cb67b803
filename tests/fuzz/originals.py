"""Sound tiny models to mutate: each kind of memory, of vocabulary and of feed-forward once."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgespec.models.pairing import byte_letters
from tests.fuzz.anatomy import Anatomy, dissect
from tests.tinygguf import CONTROL, NORMAL, TinyFile, Weights, write_gemma3, write_hybrid
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


WRITERS: tuple[Callable[[Path], Path], ...] = (
    _llama,
    write_gemma3,
    write_hybrid,
    _mamba,
    write_qwen3moe,
)


def originals(folder: Path) -> list[Anatomy]:
    """All of them, taken apart."""
    return [dissect(write(folder / "original.gguf").read_bytes()) for write in WRITERS]
