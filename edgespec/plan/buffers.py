"""Bytes of what llama.cpp allocates beside the weights: caches, states, compute buffers, outputs.

Pure arithmetic over sizes. The caches are exact. A compute buffer is what ggml's allocator needs
at the worst moment of a pass; the moments here were fitted to llama.cpp's dry runs of nine real
architectures, and are held to them by the tests: within 3 % or 16 MiB.

Source: llama.cpp src/llama-kv-cache.cpp, llama-kv-cache-iswa.cpp, llama-memory-recurrent.cpp,
llama-context.cpp (sched_reserve, output_reserve), llama-graph.cpp (build_attn_mha, build_ffn).
"""

from typing import Final

from edgespec.gguf.tables import TENSOR_TYPES
from edgespec.plan.types import LayerSizes, ModelSizes, Placement, is_quantised

_PAD: Final = 256
"""llama.cpp rounds the cells of a cache up to this."""
_F32, _F16 = 4, 2
_KV_TYPES: Final = {kind.name.lower(): kind for kind in TENSOR_TYPES.values()}


def n_cells(n_ctx: int) -> int:
    """Cells of a cache for `n_ctx` tokens."""
    return -(-n_ctx // _PAD) * _PAD


def n_window_cells(window: int, placement: Placement) -> int:
    """Cells of a sliding-window layer's cache: what it sees, and a batch; all with branches."""
    if placement.max_branches:
        return n_cells(placement.n_ctx)
    return n_cells(min(n_cells(placement.n_ctx), window + _n_rows(placement)))


def kv_bytes(model: ModelSizes, layer: LayerSizes, placement: Placement) -> int:
    """One layer's keys and values."""
    if not layer.n_embd_k:
        return 0
    n = n_window_cells(layer.window, placement) if layer.window else n_cells(placement.n_ctx)
    n_v = layer.n_embd_v
    if not placement.flash_attention:  # values lie the other way round then, all equally wide
        n_v = max(other.n_embd_v for other in model.layers)
    kind = _KV_TYPES[placement.kv_type]
    return n * ((layer.n_embd_k + n_v) * kind.block_bytes // kind.block)


def state_bytes(layer: LayerSizes, placement: Placement) -> int:
    """One layer's recurrent state, with those kept for rollback."""
    return layer.state_bytes * (1 + placement.n_snapshots)


def output_bytes(model: ModelSizes, placement: Placement) -> int:
    """Logits in the machine's own memory, once a pass has asked for the most rows."""
    return placement.max_logits * model.n_vocab * _F32


def compute_bytes(model: ModelSizes, placement: Placement, *, is_last: bool) -> int:
    """The compute buffer of the CPU that holds all layers; a last part also makes the logits."""
    n = _n_rows(placement)
    mask = mask_bytes(model, placement)
    moments = [
        mask + n * _F32 * _feed_forward_width(model, placement),
        mask + n * _F32 * _attention_width(model, placement),
        mask + _recurrent_bytes(model, placement),
    ]
    if is_last:
        n_logits = min(n, placement.max_logits)
        moments.append(n_logits * model.n_vocab * _F32 + hidden_bytes(model, placement) + mask // 2)
    return max(moments)


def mask_bytes(model: ModelSizes, placement: Placement) -> int:
    """Which cell each row may see: one mask for whole contexts, one for windows."""
    has_full = any(layer.n_embd_k and not layer.window for layer in model.layers)
    window = max((layer.window for layer in model.layers if layer.n_embd_k), default=0)
    n = n_cells(placement.n_ctx) if has_full else 0
    n += n_window_cells(window, placement) if window else 0
    return _n_rows(placement) * n * (_F16 if placement.flash_attention else _F32)


def hidden_bytes(model: ModelSizes, placement: Placement) -> int:
    """What passes from layer to layer: a batch of embeddings."""
    return _n_rows(placement) * model.n_embd * _F32


def _n_rows(placement: Placement) -> int:
    return min(placement.n_batch, n_cells(placement.n_ctx))


def _feed_forward_width(model: ModelSizes, placement: Placement) -> int:
    """Values per row in and around the feed-forward layers: gate, up and their product; inputs."""
    n_query = model.n_head * model.n_head_dim
    is_rotated = is_quantised(placement.kv_type) and n_query <= model.n_embd
    is_plain = not placement.flash_attention and not _is_gemma(model)
    n_kept = 3 if model.is_recurrent or is_rotated or is_plain else 4
    dense = 3 * model.n_ff + n_kept * model.n_embd
    if model.n_per_layer:  # those of all layers are made at once, and kept
        dense += (len(model.layers) + 2) * model.n_per_layer + 2 * model.n_embd
    experts = 2 * model.n_expert_used * (model.n_ff_expert + model.n_embd)
    return max(dense, experts)


def _attention_width(model: ModelSizes, placement: Placement) -> int:
    """Values per row at the attention: queries and what becomes of them; scores by cell."""
    n_kv = max((layer.n_embd_k + layer.n_embd_v for layer in model.layers), default=0)
    scores = 0 if placement.flash_attention else n_cells(placement.n_ctx) * model.n_head
    n_queries = 3 if _is_gemma(model) else 2
    kept = len(model.layers) * model.n_per_layer
    return 3 * model.n_embd + n_queries * model.n_head * model.n_head_dim + n_kv + scores + kept


def _is_gemma(model: ModelSizes) -> bool:
    """Whether queries are scaled as copies, and more norms are around each part."""
    return model.architecture.startswith("gemma")


def _recurrent_bytes(model: ModelSizes, placement: Placement) -> int:
    """Rows around the convolution, and the states going in and out."""
    state = max(layer.state_bytes for layer in model.layers)
    if not state:
        return 0
    width = 3 * (model.n_embd + model.n_convolved)
    return _n_rows(placement) * _F32 * width + (2 + placement.n_snapshots) * state
