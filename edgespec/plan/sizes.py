"""The sizes of a model for planning, off its GGUF header: weights by layer, caches, states.

Pure: reads metadata and tensor entries, never weights. What llama.cpp derives from an architecture
rather than from the file (window patterns, which caches are shared) is data here.

Source: llama.cpp src/llama-hparams.cpp (n_embd_k_gqa, has_kv, set_swa_pattern),
src/llama-model.cpp (create_memory), src/models/*.cpp (load_arch_hparams).
"""

import re
from typing import Final

from edgespec.gguf.header import GgufHeader
from edgespec.plan.keys import Keys
from edgespec.plan.state import STATE_EVERYWHERE, has_state, n_convolved, state_bytes
from edgespec.plan.types import LayerSizes, ModelSizes

_BLOCK: Final = re.compile(r"blk\.(\d+)\.")
_INPUT: Final = ("token_embd.", "token_embd_norm.", "token_types.", "position_embd.",
                 "per_layer_token_embd.")  # fmt: skip
"""Tensors that llama.cpp keeps in the machine's own memory, whatever goes elsewhere."""

# Every how many layers one sees the whole context, where the file does not say; with True the
# first of each group does, else the last.
_WINDOW_PATTERNS: Final[dict[str, tuple[int, bool]]] = {
    "afmoe": (4, False), "cohere2": (4, False), "cohere2moe": (4, True), "exaone-moe": (4, False),
    "exaone4": (4, False), "gemma2": (2, False), "gemma3": (6, False), "gemma3n": (5, False),
    "gpt-oss": (2, False), "laguna": (4, True), "llama4": (4, False), "mellum": (4, False),
    "muse-glimmer": (4, False), "olmo2": (4, False), "plamo3": (8, False),
    "smallthinker": (4, True),
}  # fmt: skip
_OWN_PATTERN: Final = frozenset(
    {"dots3note", "gemma4", "granite-swa", "maple", "mimo2", "spark2-5", "step35"}
)
"""Architectures whose files always hold the pattern, as one flag by layer."""
_ALL_SLIDING: Final = frozenset({"lfm2"})
_DEFAULT_WINDOW: Final = {"exaone-moe": 128, "exaone4": 4096, "gemma2": 4096, "llama4": 8192}
_GEMMA3N_OWN_CACHES: Final = 20


def sizes_of(header: GgufHeader, id: str) -> ModelSizes:
    """What planning needs to know of the model, called `id`. Milliseconds; nothing is loaded."""
    keys, shape = Keys(header), header.shape
    by_layer, input_bytes, output_bytes, tied_bytes = _weights(header)
    n_trunk = shape.n_layer - keys.size("nextn_predict_layers")
    return ModelSizes(
        id=id,
        architecture=shape.architecture,
        layers=tuple(
            _layer(header, keys, i, by_layer.get(i, 0)) if i < n_trunk else LayerSizes(0, 0, 0)
            for i in range(shape.n_layer)
        ),
        input_bytes=input_bytes,
        output_bytes=output_bytes + tied_bytes,
        tied_bytes=tied_bytes,
        n_params=shape.n_params,
        n_vocab=shape.n_vocab,
        n_embd=shape.n_embd,
        n_head=max(shape.n_head, default=0),
        n_head_dim=max(shape.n_head_dim_k, shape.n_head_dim_v),
        n_ff=_n_ff(header, keys),
        n_ctx_train=shape.n_ctx_train,
        n_expert=keys.size("expert_count"),
        n_expert_used=keys.largest("expert_used_count"),
        n_ff_expert=keys.largest("expert_feed_forward_length"),
        n_convolved=n_convolved(keys),
        n_per_layer=keys.size("embedding_length_per_layer_input"),
        largest_bytes=max(
            (t.size_bytes for t in header.tensors if _BLOCK.match(t.name)), default=0
        ),
        has_heads=n_trunk < shape.n_layer,
    )


def _weights(header: GgufHeader) -> tuple[dict[int, int], int, int, int]:
    """Bytes by layer, of the input tables, of the output, and of a table that is its head too."""
    by_layer: dict[int, int] = {}
    input_bytes = output_bytes = table_bytes = 0
    has_output = False
    for tensor in header.tensors:
        block = _BLOCK.match(tensor.name)
        if block:
            by_layer[int(block[1])] = by_layer.get(int(block[1]), 0) + tensor.size_bytes
        elif tensor.name.startswith(_INPUT):
            input_bytes += tensor.size_bytes
            table_bytes += tensor.size_bytes if tensor.name == "token_embd.weight" else 0
        else:
            output_bytes += tensor.size_bytes
            has_output |= tensor.name == "output.weight"
    return by_layer, input_bytes, output_bytes, 0 if has_output else table_bytes


def _layer(header: GgufHeader, keys: Keys, i: int, weight_bytes: int) -> LayerSizes:
    shape = header.shape
    window = _window(header, keys, i)
    is_stateful = has_state(header, keys, i)
    state = state_bytes(header, keys) if is_stateful else 0
    has_cache = shape.n_head_kv[i] > 0 and (
        not is_stateful or header.architecture in STATE_EVERYWHERE
    )
    if not has_cache or i >= _n_own_caches(header, keys):
        return LayerSizes(weight_bytes, 0, 0, window, state)
    k, v = shape.n_head_dim_k, shape.n_head_dim_v
    if window:
        k = keys.size("attention.key_length_swa", k)
        v = keys.size("attention.value_length_swa", v)
    if keys.size("attention.key_length_mla"):
        v = 0  # values are read out of the keys
    n = shape.n_head_kv[i]
    return LayerSizes(weight_bytes, n * k, n * v, window, state)


def _window(header: GgufHeader, keys: Keys, i: int) -> int:
    """Tokens that layer `i` sees; 0: all."""
    architecture, window = header.architecture, header.shape.n_window
    window = window or _DEFAULT_WINDOW.get(architecture, 0)
    flags = keys.by_layer("attention.sliding_window_pattern")
    if architecture in _ALL_SLIDING:
        return window
    if architecture not in _WINDOW_PATTERNS and architecture not in _OWN_PATTERN:
        return 0
    if i < len(flags):
        return window if flags[i] else 0
    every, is_first_full = _WINDOW_PATTERNS.get(architecture, (1, False))
    every = keys.size("attention.sliding_window_pattern", every)
    is_full = i % every == (0 if is_first_full else every - 1)
    return 0 if is_full else window


def _n_own_caches(header: GgufHeader, keys: Keys) -> int:
    """Layers from the first that own a cache; later ones share an earlier one's."""
    if header.architecture == "gemma3n":
        return _GEMMA3N_OWN_CACHES
    return header.shape.n_layer - keys.size("attention.shared_kv_layers")


def _n_ff(header: GgufHeader, keys: Keys) -> int:
    """The widest dense feed-forward layer; where all layers have experts, the key means nothing."""
    is_dense = any(tensor.name.endswith("ffn_up.weight") for tensor in header.tensors)
    return keys.largest("feed_forward_length") if is_dense else 0
