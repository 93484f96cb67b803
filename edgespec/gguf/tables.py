"""Constants of the GGUF format and of llama.cpp's model zoo; imports nothing.

Source: llama.cpp ggml/include/ggml.h (tensor types), include/llama.h (file types),
src/llama-arch.cpp (recurrent and hybrid architectures), src/llama-vocab.cpp (tokenizer defaults).
"""

from typing import Final, NamedTuple

MAX_DIMS: Final = 4
MAX_TENSOR_NAME_BYTES: Final = 63
MAX_LAYERS: Final = 512
DEFAULT_ALIGNMENT: Final = 32


class TensorType(NamedTuple):
    """How a tensor's elements are stored: `block_bytes` for every `block` elements of a row."""

    name: str
    block: int
    block_bytes: int


TENSOR_TYPES: Final[dict[int, TensorType]] = {
    0: TensorType("F32", 1, 4),
    1: TensorType("F16", 1, 2),
    2: TensorType("Q4_0", 32, 18),
    3: TensorType("Q4_1", 32, 20),
    6: TensorType("Q5_0", 32, 22),
    7: TensorType("Q5_1", 32, 24),
    8: TensorType("Q8_0", 32, 34),
    9: TensorType("Q8_1", 32, 36),
    10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110),
    12: TensorType("Q4_K", 256, 144),
    13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210),
    15: TensorType("Q8_K", 256, 292),
    16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74),
    18: TensorType("IQ3_XXS", 256, 98),
    19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18),
    21: TensorType("IQ3_S", 256, 110),
    22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136),
    24: TensorType("I8", 1, 1),
    25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),
    27: TensorType("I64", 1, 8),
    28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56),
    30: TensorType("BF16", 1, 2),
    34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66),
    39: TensorType("MXFP4", 32, 17),
    40: TensorType("NVFP4", 64, 36),
    41: TensorType("Q1_0", 128, 18),
    42: TensorType("Q2_0", 64, 18),
}
NEWEST_TENSOR_TYPE: Final = max(TENSOR_TYPES)

FILE_TYPES: Final[dict[int, str]] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0",
    38: "MXFP4", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}  # fmt: skip
"""Quantisation names by `general.file_type`."""

RECURRENT: Final = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
"""Architectures whose whole context is one state."""

HYBRID: Final = frozenset(
    {
        "bailingmoe3",
        "deepseek4",
        "falcon-h1",
        "glm5-next",
        "granitehybrid",
        "jamba",
        "kimi-k3",
        "kimi-linear",
        "lfm2",
        "lfm2moe",
        "minimax-01",
        "nemotron_h",
        "nemotron_h_moe",
        "plamo2",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "qwen4exp",
    }
)
"""Architectures with recurrent layers beside attention."""

_EMBEDDER = "an embedding model: it writes no text"
_HEAD = "a draft head inside another model: it cannot answer by itself"
_DIFFUSER = "a diffusion model: it does not write token by token"
OTHER_ARCHITECTURES: Final[dict[str, str]] = {
    "clip": "an image or audio projector (mmproj), not a language model",
    "controlvector": "a control vector, not a model",
    "imatrix": "a table of importance weights for quantising, not a model",
    "wavtokenizer-dec": "a speech vocoder, not a language model",
    "t5": "an encoder-decoder model: edgespec runs decoder-only models",
    **dict.fromkeys(
        ("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2",
         "jina-bert-v3", "eurobert", "gemma-embedding", "llama-embed", "t5encoder"), _EMBEDDER),
    **dict.fromkeys(("dflash", "eagle3", "gemma4-assistant"), _HEAD),
    **dict.fromkeys(("dream", "llada", "llada-moe", "rnd1"), _DIFFUSER),
}  # fmt: skip
"""What a file of this `general.architecture` is, where it is nothing to chat with."""

OTHER_TYPES: Final[dict[str, str]] = {
    "adapter": "a LoRA adapter, not a model",
    "mmproj": OTHER_ARCHITECTURES["clip"],
    "imatrix": OTHER_ARCHITECTURES["imatrix"],
}
"""What a file of this `general.type` is."""

ADDS_BOS: Final = frozenset(
    {"chameleon", "falcon-h1", "falcon3", "gemma4", "jina-v5-nano", "lfm2", "llama-bpe", "llama-v3",
     "llama3", "midm-2.0", "pixtral", "tekken"}
)  # fmt: skip
"""Pre-tokenizers whose byte-pair vocabularies put BOS first unless the file says otherwise."""

MAX_EXPERTS: Final = 1024
ROPE_SCALINGS: Final = frozenset({"none", "linear", "yarn", "longrope"})
COMPUTABLE: Final = frozenset(kind.name for kind in TENSOR_TYPES.values()) - {
    *("Q8_1", "Q8_K", "I8", "I16", "I32", "I64", "F64")
}
"""Types that weights can have; the others are for intermediate results and for indices."""
F32_SUFFIXES: Final = (
    *(
        "norm.weight",
        "shortconv.conv.weight",
        "conv1d.weight",
        "rope_freqs.weight",
        "rope_factors_long.weight",
    ),
    *("rope_factors_short.weight", "sinks.weight", ".ssm_a", ".ssm_d"),
)
"""Names of small tensors that have several dimensions in some models, and are F32 in all."""

FULL_ROPE: Final = frozenset(
    {"apertus", "arcee", "arctic", "baichuan", "chameleon", "codeshell", "cogvlm", "cohere2moe",
     "dbrx", "deci", "deepseek", "dots1", "ernie4_5", "ernie4_5-moe", "exaone", "exaone-moe",
     "exaone4", "falcon", "granite", "granite_swa", "graniteswitch", "grok", "grovemoe",
     "hunyuan-dense", "hunyuan-moe", "hunyuan_vl", "hy_v3", "internlm2", "jais2", "llama", "llama4",
     "maincoder", "mellum", "mistral3", "olmo", "olmo2", "olmoe", "orion", "paddleocr",
     "pangu-embedded", "plamo", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3vl",
     "qwen3vlmoe", "seed_oss", "smallthinker", "smollm3", "starcoder2", "talkie", "xverse"}
)  # fmt: skip
"""Architectures whose graph asserts that all numbers of a key are rotated."""
ROPE_FREE: Final = RECURRENT | frozenset(
    {"granitehybrid", "jamba", "kimi-k3", "kimi-linear", "nemotron_h", "nemotron_h_moe"}
)
"""Architectures that may rotate no number of a key: elsewhere llama.cpp would never come back."""
EQUAL_HEADS: Final = FULL_ROPE | frozenset(
    {"afmoe", "bailingmoe2", "bitnet", "bloom", "chatglm", "cohere2", "command-r", "glm4",
     "glm4moe", "gpt2", "gptneox", "granitehybrid", "jais", "laguna", "maple", "minimax-01",
     "minimax-m2", "minimax-m3", "mpt", "muse-glimmer", "nanbeige", "nemotron", "nemotron_h",
     "nemotron_h_moe", "openelm", "phi2", "phi3", "qwen", "qwen35", "qwen35moe", "qwen3next",
     "qwen4exp", "refact", "spark2_5", "stablelm", "starcoder"}
)  # fmt: skip
"""Architectures whose graph asserts that keys and values are of one size."""
DELTA_NETS: Final = frozenset({"qwen35", "qwen35moe", "qwen3next"})
"""Architectures with gated delta nets: their sizes hang together in ways that llama.cpp asserts."""
FUZZED: Final = frozenset(
    {"gemma3", "lfm2", "llama", "mamba", "qwen2", "qwen3", "qwen35", "qwen3moe"}
)
"""Architectures of which thousands of accepted mutants were given to llama.cpp, and none ended it
(tests/fuzz/native.py); qwen2 is qwen3 without norms of the heads."""
