"""What llama.cpp would end the process on, or never come back from, told from the header alone.

llama.cpp catches its own exceptions while it loads, and says what was wrong; a failed assertion,
a division by zero or an endless loop it does not catch. Each rule here names such a place.

Source: llama.cpp src/llama-model.cpp (load_hparams), src/llama-model-loader.cpp, src/models/*.cpp,
ggml/src/ggml-cpu/ops.cpp (rope, norms), ggml/src/ggml-backend.cpp (tensor alignment).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from edgespec.gguf.part import (
    ARRAY,
    STRING,
    UINT16,
    UINT32,
    GgufPart,
    GgufTensor,
    Value,
    refuse,
    shown,
)
from edgespec.gguf.shape import ModelShape
from edgespec.gguf.tables import (
    COMPUTABLE,
    DELTA_NETS,
    EQUAL_HEADS,
    F32_SUFFIXES,
    FULL_ROPE,
    MAX_EXPERTS,
    MAX_LAYERS,
    ROPE_FREE,
    ROPE_SCALINGS,
    TENSOR_TYPES,
)

_HINT: Final = "get another file of this model: this one was converted wrongly, or is damaged"
_MMAP_ALIGNMENT: Final = 32
_MIXERS: Final = ("ssm_conv1d", "attn_qkv", "attn_gate", "ssm_in")
_MAX_WINDOW: Final = 1 << 24
_EPSILONS: Final = (
    "attention.layer_norm_rms_epsilon",
    "attention.layer_norm_epsilon",
    "attention.group_norm_epsilon",
)
_WHOLE: Final = ("full_attention_interval", "attention.sliding_window_pattern")
_DIVISORS: Final = ("full_attention_interval", "attention.group_norm_groups", "ssm.time_step_rank")


def check_survives(parts: tuple[GgufPart, ...], shape: ModelShape) -> None:
    """Raises: `ModelFileError` with what llama.cpp would die of."""
    names = frozenset(tensor.name for part in parts for tensor in part.tensors)
    facts = _Facts(parts[0], shape, names)
    for part in parts:
        _check_part(part, is_first=part is parts[0])
    if not any(name.startswith("blk.") for name in names):
        refuse(parts[0].path, "has no layers: no tensor's name begins with 'blk.'", _HINT)
    for rule in (_layers, _experts, _heads, _window, _delta_nets, _rope, _numbers):
        for what in rule(facts):
            refuse(parts[0].path, what, _HINT)


@dataclass(frozen=True, slots=True)
class _Facts:
    part: GgufPart
    shape: ModelShape
    names: frozenset[str]
    """Of all tensors."""

    def key(self, name: str) -> str:
        return f"{self.shape.architecture}.{name}"

    def value(self, name: str) -> Value | None:
        return self.part.values.get(self.key(name))

    def size(self, name: str, default: int = 0) -> int:
        """A whole number; of an array, the largest. A wrong type gives the default: there
        llama.cpp itself refuses the file."""
        key = self.key(name)
        if numbers := self.part.few_numbers(key):
            return max((int(n) for n in numbers if math.isfinite(n)), default=default)
        value = self.part.values.get(key, default)
        return value if isinstance(value, int) else default


def _check_part(part: GgufPart, *, is_first: bool) -> None:
    for tensor in part.tensors:
        if what := _unusable(part, tensor):
            refuse(part.path, what, _HINT)
    if not is_first and part.kinds.get("split.no") != UINT16:
        refuse(part.path, "is damaged: its 'split.no' is no 16-bit number", _HINT)


def _unusable(part: GgufPart, tensor: GgufTensor) -> str:
    kind = TENSOR_TYPES[tensor.type_id].name
    if (part.data_at + tensor.offset) % _MMAP_ALIGNMENT:
        return (
            f"is laid out wrongly: tensor {shown(tensor.name)} lies at "
            f"{part.data_at + tensor.offset:,}, not at a multiple of {_MMAP_ALIGNMENT}"
        )
    if kind != "F32" and tensor.name.endswith((".bias", *F32_SUFFIXES)):
        return f"stores tensor {shown(tensor.name)} as {kind}, but only F32 works there"
    if tensor.name.endswith(".weight") and kind not in COMPUTABLE:
        return f"stores tensor {shown(tensor.name)} as {kind}, in which nothing is computed"
    return ""


def _layers(facts: _Facts) -> Iterator[str]:
    n_shared = facts.size("attention.shared_kv_layers")
    if n_shared and n_shared > facts.shape.n_layer - 2:
        yield f"shares the cache of {n_shared:,} of its {facts.shape.n_layer} layers"
    n_extra = facts.size("nextn_predict_layers")
    if n_extra > facts.shape.n_layer:
        yield f"claims {n_extra:,} prediction layers among {facts.shape.n_layer} layers"


def _experts(facts: _Facts) -> Iterator[str]:
    n, n_used = facts.size("expert_count"), facts.size("expert_used_count")
    n_groups, n_groups_used = (
        facts.size("expert_group_count"),
        facts.size("expert_group_used_count"),
    )
    if n > MAX_EXPERTS:
        yield f"claims {n:,} experts, at most {MAX_EXPERTS} are possible"
    if n_used > n or (n and not n_used):
        yield f"uses {n_used:,} of {n:,} experts for a token"
    if n_groups and n_groups >= n:
        yield f"puts {n:,} experts into {n_groups:,} groups"
    if n_groups > 1 and (n % n_groups or not 0 < n_groups_used < n_groups):
        yield f"puts {n:,} experts into {n_groups:,} groups and uses {n_groups_used:,} of those"


def _heads(facts: _Facts) -> Iterator[str]:
    shape = facts.shape
    for layer, (n, n_kv) in enumerate(zip(shape.n_head, shape.n_head_kv, strict=True)):
        if n_kv and n % n_kv:
            yield f"has {n:,} query heads for {n_kv:,} key heads in layer {layer}"
    if not shape.n_head or not shape.n_head[0]:
        return
    usual = shape.n_embd // shape.n_head[0]
    for suffix in ("", "_swa"):
        k = facts.size(f"attention.key_length{suffix}", facts.size("attention.key_length", usual))
        v = facts.size(
            f"attention.value_length{suffix}", facts.size("attention.value_length", usual)
        )
        n_rot = facts.size(f"rope.dimension_count{suffix}", facts.size("rope.dimension_count", k))
        if shape.architecture in EQUAL_HEADS and k != v:
            yield f"has keys of {k:,} and values of {v:,} numbers, which must be equal"
        if not suffix and shape.architecture in FULL_ROPE and n_rot != k:
            yield f"rotates {n_rot:,} of {k:,} numbers of a key, which must be all"
        if n_rot > k or n_rot % 2:
            yield f"rotates {n_rot:,} of {k:,} numbers of a key"
        if not n_rot and shape.architecture not in ROPE_FREE:
            yield "rotates none of the numbers of a key"


def _window(facts: _Facts) -> Iterator[str]:
    key = facts.key("attention.sliding_window_pattern")
    array = facts.part.arrays.get(key)
    is_array = array is not None and not array.is_text and array.count <= MAX_LAYERS
    if facts.shape.n_window > _MAX_WINDOW:
        yield f"slides a window over {facts.shape.n_window:,} tokens, at most {_MAX_WINDOW:,} work"
    if facts.shape.n_window and (
        facts.part.values.get(key) == 1 or (is_array and not any(facts.part.few_numbers(key)))
    ):
        yield f"slides a window over {facts.shape.n_window:,} tokens, but in no layer"


def _delta_nets(facts: _Facts) -> Iterator[str]:
    if facts.shape.architecture not in DELTA_NETS:
        return
    inner, state = facts.size("ssm.inner_size"), facts.size("ssm.state_size")
    n_heads, n_groups = facts.size("ssm.time_step_rank"), facts.size("ssm.group_count")
    if inner != state * n_heads or not n_groups or n_heads % n_groups:
        yield (
            f"has recurrent layers of {inner:,} numbers for {n_heads:,} heads of {state:,} in "
            f"{n_groups:,} groups"
        )
    key = facts.key("rope.dimension_sections")
    array = facts.part.arrays.get(key)
    sections = facts.part.few_numbers(key)
    is_whole = 0 < sum(sections[:3]) <= sum(sections) <= facts.shape.n_head_dim_k
    if array is not None and not is_whole:
        yield f"rotates {sum(sections):,.0f} of {facts.shape.n_head_dim_k} numbers of a key"
    for layer in range(facts.shape.n_layer):
        has = {part for part in _MIXERS if f"blk.{layer}.{part}.weight" in facts.names}
        if "ssm_conv1d" in has and not (has >= {"attn_qkv", "attn_gate"} or "ssm_in" in has):
            yield f"lacks the input of the recurrent layer {layer}"


def _rope(facts: _Facts) -> Iterator[str]:
    key = facts.key("rope.scaling.type")
    value = facts.part.values.get(key)
    if facts.part.kinds.get(key) == STRING and value not in ROPE_SCALINGS:
        known = ", ".join(sorted(ROPE_SCALINGS))
        yield f"scales its context by {shown(str(value))}; known are {known}"


def _numbers(facts: _Facts) -> Iterator[str]:
    for name in _EPSILONS:
        value = facts.value(name)
        if isinstance(value, float) and not 0 <= value < math.inf:
            yield f"is damaged: {shown(facts.key(name))} is {value}, not a small number"
    for name in _WHOLE:
        if facts.part.kinds.get(facts.key(name), UINT32) not in (UINT32, ARRAY):
            yield f"is damaged: {shown(facts.key(name))} is no whole number"
    for name in _DIVISORS:
        if facts.key(name) in facts.part.kinds and not facts.size(name):
            yield f"is damaged: {shown(facts.key(name))} is 0"
