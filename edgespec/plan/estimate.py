"""The sizes of a model that is not here, from the catalogue's facts.

Good to some 3 % of the weights, since publishers mix quantisations in their own ways; exact for
the caches. The file's own header replaces it as soon as there is one.
"""

from typing import Final

from edgespec.models.spec import ModelSpec, Shape
from edgespec.models.weights import Weights, fitted
from edgespec.plan.types import LayerSizes, ModelSizes

_STATE_DIM: Final = 128
_STATE_KEY_HEADS: Final = 16
"""Of Qwen's gated delta nets, all of them."""
_CONVOLVED_BEFORE: Final = 3
"""Rows that a convolution over four tokens keeps."""
_SHORT_CONVOLVED: Final = 2
"""The same of LFM2's, over three."""
_F32: Final = 4


def estimated(spec: ModelSpec) -> ModelSizes | None:
    """What planning needs to know of a catalogue entry; None where the catalogue lacks it."""
    shape = spec.shape
    weights = fitted(spec) or _even(spec)
    if shape is None or weights is None:
        return None
    n_trunk = shape.n_layer
    tied = weights.table_bytes if not weights.output_bytes else 0
    return ModelSizes(
        id=spec.id,
        architecture=shape.arch,
        layers=(
            *(_layer(shape, i, weights.layer_bytes[i]) for i in range(n_trunk)),
            *(LayerSizes(0, 0, 0),) * shape.has_mtp,  # not loaded unless it drafts
        ),
        input_bytes=weights.table_bytes + weights.other_bytes,
        output_bytes=weights.output_bytes or tied,
        tied_bytes=tied,
        n_params=weights.n_params,
        n_vocab=shape.n_vocab,
        n_embd=shape.n_embd,
        n_head=shape.n_head,
        n_head_dim=shape.head_dim,
        n_ff=shape.n_ff * (2 if shape.n_layer_wide else 1),
        n_ctx_train=shape.context_train,
        n_expert=shape.n_expert,
        n_expert_used=shape.n_expert_used,
        n_ff_expert=shape.n_ff_expert,
        n_convolved=_n_convolved(shape),
        n_per_layer=shape.n_embd_per_layer,
        largest_bytes=_largest(shape, weights),
        has_heads=shape.has_mtp,
        is_estimate=True,
    )


def _even(spec: ModelSpec) -> Weights | None:
    """The weights of a mix that is not known: each layer alike, tables by their share of values."""
    shape, size = spec.shape, spec.planning_bytes
    if shape is None or size is None:
        return None
    bits = 4.5 if "4" in spec.quant else 8.5
    table = round(shape.n_vocab * shape.n_embd * bits / 8)
    tables = table if shape.is_tied else 2 * table
    layer = max(0, size - tables) // shape.n_layer
    return Weights(
        table_bytes=table,
        output_bytes=0 if shape.is_tied else table,
        layer_bytes=(layer,) * shape.n_layer,
        other_bytes=0,
        n_params=round(size * 8 / bits),
    )


def _layer(shape: Shape, i: int, weight_bytes: int) -> LayerSizes:
    n_kv, dim = shape.n_kv_head, shape.head_dim
    if _is_full(shape, i):
        return LayerSizes(weight_bytes, n_kv * dim, n_kv * dim)
    if not shape.window:
        return LayerSizes(weight_bytes, 0, 0, state_bytes=_state_bytes(shape))
    n_kv = n_kv if shape.n_kv_head_swa is None else shape.n_kv_head_swa
    dim = dim if shape.head_dim_swa is None else shape.head_dim_swa
    owns = i < _n_own_caches(shape)
    return LayerSizes(weight_bytes, n_kv * dim * owns, n_kv * dim * owns, shape.window)


def _n_own_caches(shape: Shape) -> int:
    """Layers from the first that own a cache."""
    return (shape.n_layer_kv or 0) + shape.n_layer_swa


def _is_full(shape: Shape, i: int) -> bool:
    """Whether layer `i` owns a cache of the whole context."""
    if shape.n_layer_kv is None:
        return True
    if shape.every > 1:
        is_own = not shape.window or i < _n_own_caches(shape)
        return (i + 1) % shape.every == 0 and is_own
    # Spread evenly where the catalogue does not say: the sums are right all the same.
    before, after = (n * shape.n_layer_kv // shape.n_layer for n in (i, i + 1))
    return after > before


def _n_convolved(shape: Shape) -> int:
    if not shape.n_state_heads:
        return 0
    return (shape.n_state_heads + 2 * _STATE_KEY_HEADS) * _STATE_DIM


def _state_bytes(shape: Shape) -> int:
    if not shape.n_state_heads:
        return _F32 * _SHORT_CONVOLVED * shape.n_embd
    carried = shape.n_state_heads * _STATE_DIM * _STATE_DIM
    return _F32 * (_CONVOLVED_BEFORE * _n_convolved(shape) + carried)


def _largest(shape: Shape, weights: Weights) -> int:
    """The largest matrix of a layer: a third of the experts', else of the feed-forward part."""
    return max(weights.layer_bytes) // 3 if shape.n_expert else max(weights.layer_bytes) // 4
