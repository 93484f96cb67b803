"""A tiny model whose cache is large: 8 KiB per token, in heads that quantised caches take."""

from pathlib import Path

from tests.tinygguf import CHATML, EOS, VOCAB, TinyFile, Weights

N_LAYER = 8
N_EMBD, N_HEAD, N_FF = 256, 4, 64


def write_roomy(path: Path, *, noise: float = 0.0, n_layer: int = N_LAYER) -> Path:
    """A transformer with heads of 64. Returns `path`."""
    file = TinyFile(path, "llama", Weights(0, noise), n_embd=N_EMBD)
    file.describe(n_ctx=8192, n_layer=n_layer, n_ff=N_FF)
    file.add_heads(N_HEAD, N_HEAD)
    file.add_vocab(VOCAB, eos=EOS, add_bos=True, template=CHATML)
    file.add_ends(VOCAB, 3.0)
    for layer in range(n_layer):
        file.add_norm(f"blk.{layer}.attn_norm.weight", N_EMBD)
        file.add_attention(layer, N_HEAD, N_HEAD)
        file.add_feed_forward(layer, N_FF)
    return file.write()
