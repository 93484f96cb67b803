"""How many bytes the parts of a model take in a given quantisation, before its file is here.

Good to 0.3 % for llama.cpp's own mixes of the architectures in the catalogue; publishers with
mixes of their own differ, and `fitted` stretches the estimate to a file's real size.

Source: llama.cpp, src/llama-quant.cpp, llama_tensor_get_type_impl and tensor_type_fallback.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from edgespec.models.spec import ModelSpec, Shape
from edgespec.models.tensors import Tensor, tensors_of

_BITS = {
    "f32": 32.0,
    "f16": 16.0,
    "q8_0": 8.5,
    "q6_K": 6.5625,
    "q5_K": 5.5,
    "q5_1": 6.0,
    "q5_0": 5.5,
    "q4_K": 4.5,
    "q4_1": 5.0,
    "q4_0": 4.5,
    "mxfp4": 4.25,
}
_FALLBACK = {"q4_K": "q5_0", "q5_K": "q5_1", "q6_K": "q8_0"}
"""For rows that do not divide into blocks of 256."""
_VOCAB_BYTES_PER_TOKEN = 39
"""Texts, kinds and merges in the header, about; scores come instead of merges."""
_BASE = {
    "Q4_K_M": "q4_K",
    "UD-Q4_K_M": "q4_K",
    "UD-Q4_K_XL": "q4_K",
    "Q8_0": "q8_0",
    "Q4_0": "q4_0",
    "Q4_1": "q4_1",
    "MXFP4": "mxfp4",
}
_LARGE_MODEL_LAYERS = 80
"""llama.cpp takes a model of so many layers for the 70B, whose values get more bits."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes on disk and in memory, by what can be placed."""

    table_bytes: int
    """The token table: one row of it is read per token, unless it is the output table too."""
    output_bytes: int
    """0 where the token table serves."""
    layer_bytes: tuple[int, ...]
    other_bytes: int
    """The header, and tables that are read row by row."""
    n_params: int

    @property
    def size_bytes(self) -> int:
        """Of the whole file."""
        return self.table_bytes + self.output_bytes + sum(self.layer_bytes) + self.other_bytes


def knows(quant: str) -> bool:
    """Whether the mix of this quantisation is known."""
    return quant in _BASE


@cache
def estimate(shape: Shape, quant: str) -> Weights:
    """What llama.cpp's own quantisation makes of a model of this shape. `quant` must be known."""
    tensors = tuple(tensors_of(shape))
    table = [t for t in tensors if t.role == "table"]
    output = [t for t in tensors if t.role == "output"]
    rest = [t for t in tensors if t.layer is None and t not in table + output]
    layers = range(shape.n_layer + shape.has_mtp)
    mix = _Mix(shape, quant, sum(t.role == "v" for t in tensors))
    return Weights(
        table_bytes=mix.size_bytes(table),
        output_bytes=mix.size_bytes(output),
        layer_bytes=tuple(mix.size_bytes(t for t in tensors if t.layer == i) for i in layers),
        other_bytes=mix.size_bytes(rest) + _VOCAB_BYTES_PER_TOKEN * shape.n_vocab,
        n_params=sum(tensor.n_elements for tensor in tensors),
    )


def fitted(spec: ModelSpec) -> Weights | None:
    """The estimate for a catalogue entry, stretched to its size; None where too little is known."""
    if spec.shape is None or not knows(spec.quant):
        return None
    plain = estimate(spec.shape, spec.quant)
    stretch = (spec.planning_bytes or plain.size_bytes) / plain.size_bytes
    return Weights(
        table_bytes=round(plain.table_bytes * stretch),
        output_bytes=round(plain.output_bytes * stretch),
        layer_bytes=tuple(round(size * stretch) for size in plain.layer_bytes),
        other_bytes=round(plain.other_bytes * stretch),
        n_params=plain.n_params,
    )


@dataclass(slots=True)
class _Mix:
    """Decides by role and place in the model, as llama.cpp does; asked layer by layer."""

    shape: Shape
    quant: str
    n_v: int
    i_v: int = 0

    def size_bytes(self, tensors: Iterable[Tensor]) -> int:
        return round(sum(t.n_elements * _BITS[self._type(t)] for t in tensors) / 8)

    def _type(self, tensor: Tensor) -> str:
        kind = self._wanted(tensor)
        if tensor.n_in % 256 and kind in _FALLBACK:
            kind = _FALLBACK[kind]
        return "f16" if tensor.n_in % 32 and kind != "f32" else kind

    def _wanted(self, tensor: Tensor) -> str:
        base = _BASE[self.quant]
        if tensor.role == "f32":
            return "f32"
        if base == "mxfp4":
            return base if tensor.role in ("expert", "expert_down") else "q8_0"
        if tensor.role == "output" or (
            tensor.role in ("table", "layer_tables") and self.shape.is_tied
        ):
            return "q8_0" if base == "q8_0" else "q6_K"
        if base != "q4_K":
            return base
        if tensor.role == "qkv":
            return "q5_K"
        if tensor.role == "v":
            self.i_v += 1
            if _gets_more_bits(self.i_v - 1, self.n_v):
                return "q6_K"
            return "q5_K" if self.shape.n_layer == _LARGE_MODEL_LAYERS else base
        if tensor.role in ("down", "expert_down"):
            assert tensor.layer is not None, tensor
            if _gets_more_bits(tensor.layer, self.shape.n_layer + self.shape.has_mtp):
                return "q6_K"
        return base


def _gets_more_bits(i: int, n: int) -> bool:
    """The first and the last eighth, and every third between."""
    return i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2
