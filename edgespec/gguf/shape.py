"""What a model is, read from its metadata: sizes for planning and for header lines.

Pure: a `GgufPart` in, a `ModelShape` out. Does not decide what fits or what runs.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from edgespec.gguf.part import GgufPart, GgufTensor, refuse, shown
from edgespec.gguf.tables import FILE_TYPES, HYBRID, MAX_LAYERS, RECURRENT, TENSOR_TYPES

_MAX_SIZE: Final = 1 << 31
_MAX_CONTEXT: Final = 1 << 31
_TYPE_BY_NAME: Final = {kind.name.lower(): kind for kind in TENSOR_TYPES.values()}


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The sizes of one model."""

    architecture: str
    name: str
    """`general.name`, or empty."""
    n_layer: int
    n_ctx_train: int
    n_embd: int
    n_head: tuple[int, ...]
    """Query heads by layer."""
    n_head_kv: tuple[int, ...]
    """Key and value heads by layer; 0 where the layer has no attention cache."""
    n_head_dim_k: int
    n_head_dim_v: int
    n_vocab: int
    n_window: int
    """Tokens a sliding-window layer sees; 0 when there is none."""
    quant: str
    """For example "Q4_K_M"."""
    size_bytes: int
    """All files together."""
    n_params: int
    n_params_body: int
    """Parameters without embedding and output tables."""
    chat_template: str | None
    is_recurrent: bool
    """The whole context is one state."""
    is_hybrid: bool
    """Some layers are recurrent."""

    def kv_bytes_per_token(self, kv_type: str = "f16") -> float:
        """Bytes of keys and values per token of context, all layers at full length.

        An upper bound where layers slide a window or share a cache.
        """
        kind = _TYPE_BY_NAME[kv_type]
        n_values = sum(self.n_head_kv) * (self.n_head_dim_k + self.n_head_dim_v)
        return n_values * kind.block_bytes / kind.block


def shape_of(parts: tuple[GgufPart, ...], architecture: str) -> ModelShape:
    """The shape of a model in one or more files; the first has the metadata.

    Raises: `ModelFileError` when a size is missing or absurd.
    """
    keys = _Keys(parts[0], architecture)
    tensors = [tensor for part in parts for tensor in part.tensors]
    n_layer = keys.size("block_count", most=MAX_LAYERS)
    n_embd = keys.size("embedding_length", most=_MAX_SIZE)
    n_head = keys.per_layer("attention.head_count", n_layer, default=(0,) * n_layer)
    n_head_kv = keys.per_layer("attention.head_count_kv", n_layer, default=n_head)
    n_head_dim = n_embd // max(1, *n_head)
    return ModelShape(
        architecture=architecture,
        name=keys.text("general.name"),
        n_layer=n_layer,
        n_ctx_train=keys.size("context_length", most=_MAX_CONTEXT),
        n_embd=n_embd,
        n_head=n_head,
        n_head_kv=_with_attention(keys, architecture, n_head_kv),
        n_head_dim_k=keys.size("attention.key_length", most=_MAX_SIZE, default=n_head_dim),
        n_head_dim_v=keys.size("attention.value_length", most=_MAX_SIZE, default=n_head_dim),
        n_vocab=_n_vocab(keys, tensors),
        n_window=keys.size("attention.sliding_window", most=_MAX_SIZE, default=0),
        quant=_quant(parts[0], tensors),
        size_bytes=sum(part.size_bytes for part in parts),
        n_params=sum(tensor.n_elements for tensor in tensors),
        n_params_body=sum(t.n_elements for t in tensors if t.name not in _TABLES),
        chat_template=keys.text("tokenizer.chat_template") or None,
        is_recurrent=architecture in RECURRENT,
        is_hybrid=architecture in HYBRID,
    )


_TABLES: Final = frozenset({"token_embd.weight", "output.weight"})


@dataclass(frozen=True, slots=True)
class _Keys:
    """Typed, bounded reading of `<architecture>.*`."""

    part: GgufPart
    architecture: str

    def text(self, key: str) -> str:
        value = self.part.values.get(key, "")
        return value if isinstance(value, str) else ""

    def size(self, key: str, *, most: int, default: int | None = None) -> int:
        """Some architectures give a size by layer: the largest counts."""
        key = f"{self.architecture}.{key}"
        array = self.part.arrays.get(key)
        value = self.part.values.get(key, default)
        if array is not None and not array.is_text and 0 < array.count <= MAX_LAYERS:
            value = max(self.part.numbers(key))
        if value is None:
            refuse(
                self.part.path,
                f"lacks {shown(key)}, which every model has",
                "get a complete file of this model",
            )
        least = 1 if default is None else 0
        if not isinstance(value, int) or not least <= value <= most:
            refuse(
                self.part.path,
                f"is damaged: {shown(key)} is {value!r:.40}, not a whole number up to {most:,}",
            )
        return int(value)

    def per_layer(self, key: str, n_layer: int, *, default: tuple[int, ...]) -> tuple[int, ...]:
        """One number by layer, whether the file has one for all or an array."""
        full = f"{self.architecture}.{key}"
        array = self.part.arrays.get(full)
        if array is None:
            if full not in self.part.values:
                return default
            return (self.size(key, most=_MAX_SIZE, default=0),) * n_layer
        if array.is_text or not n_layer <= array.count <= MAX_LAYERS:
            refuse(
                self.part.path,
                f"is damaged: {shown(full)} has {array.count:,} items for {n_layer} layers",
            )
        numbers = self.part.numbers(full)[:n_layer]
        sizes = tuple(n for n in numbers if isinstance(n, int) and 0 <= n <= _MAX_SIZE)
        if len(sizes) < n_layer:
            refuse(self.part.path, f"is damaged: {shown(full)} has items that are no sizes")
        return sizes


def _with_attention(keys: _Keys, architecture: str, n_head_kv: tuple[int, ...]) -> tuple[int, ...]:
    """`n_head_kv` with 0 for the layers that keep a state instead of keys and values."""
    if architecture in RECURRENT:
        return (0,) * len(n_head_kv)
    every = keys.size("full_attention_interval", most=MAX_LAYERS, default=0)
    if architecture not in HYBRID or not every:
        return n_head_kv
    return tuple(n if (i + 1) % every == 0 else 0 for i, n in enumerate(n_head_kv))


def _n_vocab(keys: _Keys, tensors: Sequence[GgufTensor]) -> int:
    tokens = keys.part.arrays.get("tokenizer.ggml.tokens")
    if tokens is not None:
        return tokens.count
    rows = [t.dims[1] for t in tensors if t.name == "token_embd.weight" and len(t.dims) == 2]
    return rows[0] if rows else keys.size("vocab_size", most=_MAX_SIZE, default=0)


def _quant(part: GgufPart, tensors: Sequence[GgufTensor]) -> str:
    """By the file's own word, else by the type that stores most elements."""
    file_type = part.values.get("general.file_type")
    if isinstance(file_type, int) and file_type in FILE_TYPES:
        return FILE_TYPES[file_type]
    elements: Counter[int] = Counter()
    for tensor in tensors:
        elements[tensor.type_id] += tensor.n_elements
    return TENSOR_TYPES[elements.most_common(1)[0][0]].name
