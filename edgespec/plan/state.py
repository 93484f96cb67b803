"""Recurrent states of a model: which layers keep one, and how large it is.

Source: llama.cpp src/llama-hparams.cpp (n_embd_r, n_embd_s), src/models/*.cpp (is_recr_impl).
"""

from typing import Final

from edgespec.gguf.header import GgufHeader
from edgespec.plan.keys import Keys

STATE_EVERYWHERE: Final = frozenset({"falcon-h1"})
"""Architectures whose layers have a state beside the cache."""
_STATE_BY_INTERVAL: Final = frozenset(
    {"minimax-01", "qwen35", "qwen35moe", "qwen3next", "qwen4exp"}
)
_F32_BYTES: Final = 4


def has_state(header: GgufHeader, keys: Keys, i: int) -> bool:
    """Whether layer `i` keeps a state, instead of a cache or beside it."""
    shape, architecture = header.shape, header.architecture
    if shape.is_recurrent or architecture in STATE_EVERYWHERE:
        return True
    if not shape.is_hybrid:
        return False
    if architecture in _STATE_BY_INTERVAL:
        flags = keys.by_layer("attention.recurrent_layers")
        if i < len(flags):
            return bool(flags[i])
        return (i + 1) % keys.size("full_attention_interval", 4) != 0
    if architecture.startswith("nemotron_h"):
        widths = keys.by_layer("feed_forward_length")
        return shape.n_head_kv[i] == 0 and not (i < len(widths) and widths[i])
    return shape.n_head_kv[i] == 0


def state_bytes(header: GgufHeader, keys: Keys) -> int:
    """One copy of a layer's state: what is convolved, and what is carried."""
    n_embd, n_head = header.shape.n_embd, max(header.shape.n_head)
    n_conv = max(0, keys.size("ssm.conv_kernel") - 1)
    inner, state = keys.size("ssm.inner_size"), keys.size("ssm.state_size")
    if wkv := keys.size("wkv.head_size"):
        return _F32_BYTES * (keys.size("token_shift_count", 2) * n_embd + n_embd * wkv)
    if shortconv := keys.size("shortconv.l_cache"):
        return _F32_BYTES * (n_embd * (shortconv - 1) + state * inner)
    if kda := keys.size("kda.head_dim"):
        return _F32_BYTES * (3 * (n_conv or 3) * n_head * kda + kda * kda * n_head)
    return _F32_BYTES * (n_conv * n_convolved(keys) + state * inner)


def n_convolved(keys: Keys) -> int:
    """Values per token that a layer convolves."""
    groups, state = keys.size("ssm.group_count"), keys.size("ssm.state_size")
    return keys.size("ssm.inner_size") + 2 * groups * state
