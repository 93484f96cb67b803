"""Writes the model that the first-decode guard decodes: one layer, every quantised kernel.

Its numbers mean nothing; its shapes and types are what llama.cpp's special CPU kernels take.
"""

import zlib
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType as Quant

N_VOCAB = 256
_N_EMBD = 256
"""A multiple of a K-quant block and of two AMX tiles: what the special kernels ask for."""
_N_FF = 512
_N_HEAD = 4

# Every type that has AMX or repacked kernels (ggml-cpu/amx/common.h, ggml-cpu/repack.cpp), each
# as a matrix of its own. The head also meets all rows of a batch.
_MATRICES = (
    ("token_embd", N_VOCAB, _N_EMBD, Quant.Q8_0),
    ("output", N_VOCAB, _N_EMBD, Quant.Q6_K),
    ("blk.0.attn_q", _N_EMBD, _N_EMBD, Quant.Q4_0),
    ("blk.0.attn_k", _N_EMBD, _N_EMBD, Quant.Q4_1),
    ("blk.0.attn_v", _N_EMBD, _N_EMBD, Quant.Q6_K),
    ("blk.0.attn_output", _N_EMBD, _N_EMBD, Quant.Q8_0),
    ("blk.0.ffn_gate", _N_FF, _N_EMBD, Quant.Q4_K),
    ("blk.0.ffn_up", _N_FF, _N_EMBD, Quant.Q5_K),
    ("blk.0.ffn_down", _N_EMBD, _N_FF, Quant.IQ4_XS),
)
_NORMS = ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")

# Bytes of the half-precision scales in a block, in order (ggml-common.h).
_SCALES = {
    Quant.Q4_0: (0,),
    Quant.Q4_1: (0, 2),
    Quant.Q8_0: (0,),
    Quant.Q4_K: (0, 2),
    Quant.Q5_K: (0, 2),
    Quant.Q6_K: (208,),
    Quant.IQ4_XS: (0,),
}


def write_tiny_model(path: Path) -> None:
    """Write the model to `path`: under 1 MB, the same bytes every time, token ids without texts."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("edgespec first-decode guard")
    writer.add_context_length(128)
    writer.add_embedding_length(_N_EMBD)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_N_FF)
    writer.add_head_count(_N_HEAD)
    writer.add_head_count_kv(_N_HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_N_EMBD // _N_HEAD)
    writer.add_vocab_size(N_VOCAB)
    writer.add_tokenizer_model("none")
    for name, n_out, n_in, quant in _MATRICES:
        writer.add_tensor(f"{name}.weight", _blocks(name, n_out, n_in, quant), raw_dtype=quant)
    for name in _NORMS:
        writer.add_tensor(f"{name}.weight", np.ones(_N_EMBD, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _blocks(name: str, n_out: int, n_in: int, quant: Quant) -> npt.NDArray[np.uint8]:
    """Random blocks, [n_out, bytes per row]; any bytes are weights if the scales are small."""
    block_elements, block_bytes = gguf.GGML_QUANT_SIZES[quant]
    n_blocks = n_out * n_in // block_elements
    random = np.random.default_rng(zlib.crc32(name.encode()))
    blocks = random.integers(0, 256, (n_blocks, block_bytes), np.uint8)
    scale = np.frombuffer(np.float16(2**-12).tobytes(), np.uint8)
    for at in _SCALES[quant]:
        blocks[:, at : at + 2] = scale
    return blocks.reshape(n_out, -1)
