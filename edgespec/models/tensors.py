"""Which tensors a model of a given shape consists of, before any file is here.

Knows architectures, not quantisations (`edgespec.models.weights`) and not files (`edgespec.gguf`).

Source: llama.cpp, src/models/*.cpp, load_arch_tensors.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from edgespec.models.spec import Shape

Role = Literal[
    "table", "output", "layer_tables", "v", "qkv", "down", "expert", "expert_down", "plain", "f32"
]
"""What decides a tensor's quantisation; "qkv": queries, keys and values in one."""

_STATE_DIM = 128
_STATE_KEY_HEADS = 16
_FUSED = ("phi3",)
"""Architectures with queries, keys and values in one tensor."""
_K_IS_V = ("gemma4",)
"""Architectures whose layers of full attention keep no values of their own, if they have fewer
heads there than in the others."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One weight matrix, or one for each expert."""

    role: Role
    n_out: int
    n_in: int
    """Length of a row: quantisations cut it into blocks."""
    layer: int | None = None
    """None: a table, which belongs to no layer."""
    n: int = 1

    @property
    def n_elements(self) -> int:
        """Weights in all of them."""
        return self.n_out * self.n_in * self.n


def tensors_of(shape: Shape) -> Iterator[Tensor]:
    """Every tensor but the smallest (norms are counted together, biases not at all)."""
    yield Tensor("table", shape.n_vocab, shape.n_embd)
    if not shape.is_tied:
        yield Tensor("output", shape.n_vocab, shape.n_embd)
    if width := shape.n_embd_per_layer * shape.n_layer:
        yield Tensor("layer_tables", shape.n_vocab, width)
        yield Tensor("plain", width, shape.n_embd)
    for layer in range(shape.n_layer):
        yield from _mixer(shape, layer)
        yield from _feed_forward(shape, layer)
    if shape.has_mtp:
        yield from _attention(shape, shape.n_layer, is_full=True)
        yield from _feed_forward(shape, shape.n_layer)
        yield Tensor("plain", shape.n_embd, 2 * shape.n_embd, shape.n_layer)


def n_params(shape: Shape) -> int:
    """All weights of a model of this shape, every expert counted."""
    return sum(tensor.n_elements for tensor in tensors_of(shape))


def _mixer(shape: Shape, layer: int) -> Iterator[Tensor]:
    """What lets tokens see each other: attention, or a recurrent or convolutional state."""
    is_full = (layer + 1) % shape.every == 0
    if shape.arch == "lfm2":
        # The file says which layers convolve; for sizes only their number matters.
        assert shape.n_layer_kv is not None, shape
        is_full = layer >= shape.n_layer - shape.n_layer_kv
        if not is_full:
            yield Tensor("plain", 4 * shape.n_embd, shape.n_embd, layer)
            return
    if shape.n_state_heads and not is_full:
        yield from _delta_net(shape, layer)
        return
    yield from _attention(shape, layer, is_full=is_full)


def _attention(shape: Shape, layer: int, *, is_full: bool) -> Iterator[Tensor]:
    heads, dim = shape.n_kv_head, shape.head_dim
    if not is_full:
        heads = heads if shape.n_kv_head_swa is None else shape.n_kv_head_swa
        dim = dim if shape.head_dim_swa is None else shape.head_dim_swa
    q, kv = shape.n_head * dim, heads * dim
    if shape.arch in _FUSED:
        yield Tensor("qkv", q + 2 * kv, shape.n_embd, layer)
    else:
        # Hybrid models gate the attention's output with as many values as it has queries.
        yield Tensor("plain", q * (2 if shape.n_state_heads else 1), shape.n_embd, layer)
        yield Tensor("plain", kv, shape.n_embd, layer)
        has_values = not (shape.arch in _K_IS_V and is_full and shape.n_kv_head_swa)
        if has_values:
            yield Tensor("v", kv, shape.n_embd, layer)
    yield Tensor("plain", shape.n_embd, q, layer)


def _delta_net(shape: Shape, layer: int) -> Iterator[Tensor]:
    value = _STATE_DIM * shape.n_state_heads
    mixed = 2 * _STATE_DIM * _STATE_KEY_HEADS + value
    yield Tensor("qkv", mixed, shape.n_embd, layer)
    yield Tensor("plain", value, shape.n_embd, layer)
    yield Tensor("plain", shape.n_embd, value, layer)
    yield Tensor("plain", 2 * shape.n_state_heads, shape.n_embd, layer)
    yield Tensor("f32", mixed, 4, layer)


def _feed_forward(shape: Shape, layer: int) -> Iterator[Tensor]:
    n_embd, n_ff = shape.n_embd, shape.n_ff
    if shape.n_layer - shape.n_layer_wide <= layer < shape.n_layer:
        n_ff *= 2
    for width in (n_ff, shape.n_ff_shared):
        if width:
            yield Tensor("plain", 2 * width, n_embd, layer)
            yield Tensor("down", n_embd, width, layer)
    if shape.n_expert:
        yield Tensor("expert", 2 * shape.n_ff_expert, n_embd, layer, shape.n_expert)
        yield Tensor("expert_down", n_embd, shape.n_ff_expert, layer, shape.n_expert)
        yield Tensor("f32", shape.n_expert, n_embd, layer)
    if shape.n_embd_per_layer:
        yield Tensor("plain", 2 * shape.n_embd_per_layer, n_embd, layer)
    yield Tensor("f32", 2, n_embd, layer)
