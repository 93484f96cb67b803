"""What a person wants to know of a model before running it, from its header and the catalogue."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from edgespec.gguf.header import GgufHeader
from edgespec.models.spec import ModelSpec
from edgespec.sizes import gibibytes, gigabytes


@dataclass(frozen=True, slots=True)
class Card:
    """One model in figures; empty texts are unknown."""

    id: str
    title: str
    where: str
    """A path, or the place it can be had from."""
    is_here: bool
    n_files: int
    architecture: str
    memory: str
    """"attention", "sliding window", "recurrent" or "hybrid"."""
    quant: str
    size_bytes: int
    n_params: int
    n_layer: int
    n_embd: int
    n_head: int
    n_head_kv: int
    n_window: int
    n_ctx_train: int
    kv_bytes_per_token: int
    """At f16; an upper bound where layers slide a window or share a cache."""
    n_vocab: int
    tokenizer: str
    has_chat_template: bool
    n_draft_layers: int
    """Trained draft heads in the same file (MTP)."""
    licence: str
    sha256: str
    drafts: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def lines(self) -> Mapping[str, str]:
        """The same in words, in reading order; what is unknown is left out."""
        files = f" in {self.n_files} files" if self.n_files > 1 else ""
        window = f", {self.n_window:,} tokens in sliding layers" if self.n_window else ""
        heads = f" ({self.n_draft_layers} of them draft heads)" if self.n_draft_layers else ""
        kv_8k = gibibytes(self.kv_bytes_per_token * 8192)
        found = {
            "model": self.title or self.id,
            "here" if self.is_here else "from": self.where,
            "size": f"{gigabytes(self.size_bytes)}{files}, {self.quant}",
            "parameters": _count(self.n_params),
            "architecture": f"{self.architecture}: {self.n_layer} layers{heads}, {self.memory}",
            "heads": f"{self.n_head}, {self.n_head_kv} with keys and values of their own",
            "context": f"{self.n_ctx_train:,} tokens{window}",
            "KV cache": f"{self.kv_bytes_per_token:,} bytes per token, {kv_8k} for 8,192 (f16)",
            "vocabulary": f"{self.n_vocab:,} tokens, {self.tokenizer}",
            "chat template": "in the file" if self.has_chat_template else "none in the file",
            "licence": self.licence,
            "sha256": self.sha256,
            "drafts": ", ".join(self.drafts),
        }
        return {name: value for name, value in found.items() if value}


def card_of(header: GgufHeader, spec: ModelSpec | None, label: str, where: str) -> Card:
    """The card of a model; `where` is empty for one that is on this machine."""
    shape = header.shape
    n_nextn = header.values.get(f"{header.architecture}.nextn_predict_layers", 0)
    licence = header.values.get("general.license", "")
    return Card(
        id=label,
        title=spec.title if spec else shape.name,
        where=where or str(header.path),
        is_here=not where,
        n_files=len(header.parts),
        architecture=header.architecture,
        memory=_memory(header),
        quant=shape.quant,
        size_bytes=shape.size_bytes,
        n_params=shape.n_params,
        n_layer=shape.n_layer,
        n_embd=shape.n_embd,
        n_head=max(shape.n_head, default=0),
        n_head_kv=max(shape.n_head_kv, default=0),
        n_window=shape.n_window,
        n_ctx_train=shape.n_ctx_train,
        kv_bytes_per_token=round(shape.kv_bytes_per_token()),
        n_vocab=shape.n_vocab,
        tokenizer=f"{header.tokens.kind}, {header.tokens.pre}",
        has_chat_template=shape.chat_template is not None,
        n_draft_layers=n_nextn if isinstance(n_nextn, int) else 0,
        licence=(spec.licence if spec else "") or str(licence),
        sha256=(spec.sha256 if spec else "") or "",
        drafts=spec.drafts if spec else (),
    )


def _memory(header: GgufHeader) -> str:
    shape = header.shape
    if shape.is_recurrent:
        return "recurrent"
    if shape.is_hybrid:
        return "hybrid"
    return "sliding window" if shape.n_window else "attention"


def _count(n: int) -> str:
    """For example "1.54 billion", "135 million"."""
    return f"{n / 1e9:.2f} billion" if n >= 1e9 else f"{n / 1e6:.0f} million"
