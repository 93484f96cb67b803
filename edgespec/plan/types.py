"""The plan: where target and drafter go, what each part takes, and what gave way to make it fit.

Values only; imports nothing heavy. `plan.make` makes it, `api.load` carries it out.
"""

from dataclasses import dataclass
from typing import Literal

from edgespec.hardware.types import HardwareReport
from edgespec.plan.kinds import QUANT_BLOCK as QUANT_BLOCK
from edgespec.plan.kinds import KvType as KvType
from edgespec.plan.kinds import SplitMode as SplitMode
from edgespec.plan.kinds import is_quantised as is_quantised

DraftWish = Literal["auto", "required", "off"]
RungKind = Literal[
    "draft_kv", "smaller_draft", "no_draft", "kv_type", "n_ctx", "n_gpu_layers", "cpu"
]


@dataclass(frozen=True, slots=True)
class LayerSizes:
    """One repeating layer of a model."""

    weight_bytes: int
    n_embd_k: int
    """Values per token in the layer's key cache; 0 where it owns none."""
    n_embd_v: int
    window: int = 0
    """Tokens it sees; 0: all."""
    state_bytes: int = 0
    """One recurrent state; independent of the context."""


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """What planning needs to know of a model, from its header or from the catalogue."""

    id: str
    """Catalogue id or file name."""
    architecture: str
    layers: tuple[LayerSizes, ...]
    input_bytes: int
    """The embedding table, which stays in the machine's own memory."""
    output_bytes: int
    """Output head and norms, with the embedding table again where it serves as the head."""
    tied_bytes: int
    """The part of `output_bytes` that is the embedding table: once where both lie together."""
    n_params: int
    n_vocab: int
    n_embd: int
    n_head: int
    n_head_dim: int
    n_ff: int
    """Widest dense feed-forward layer; 0: none."""
    n_ctx_train: int
    n_expert: int = 0
    n_expert_used: int = 0
    n_ff_expert: int = 0
    n_convolved: int = 0
    """Values per token that a recurrent layer convolves."""
    n_per_layer: int = 0
    """Width of the embeddings that each layer has of its own."""
    largest_bytes: int = 0
    """The largest matrix of a layer."""
    has_heads: bool = False
    """The file carries trained draft heads."""
    is_estimate: bool = False
    """From the catalogue's facts: the file itself is not here."""
    is_foreign: bool = False
    """A draft of another vocabulary than its target's: its texts are loaded too."""

    @property
    def is_recurrent(self) -> bool:
        """Whether any layer keeps a state instead of keys and values."""
        return any(layer.state_bytes for layer in self.layers)

    @property
    def weight_bytes(self) -> int:
        """All that a device needs to hold the whole model, the embedding table left out."""
        return self.output_bytes + sum(layer.weight_bytes for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for; None where edgespec decides. It is met or refused."""

    n_ctx: int | None = None
    kv_type: KvType | None = None
    draft: DraftWish = "auto"
    """"required": the first of the drafts, named by the person."""
    n_gpu_layers: int | None = None
    """Of the target, the output layer included; 0: the CPU alone."""
    devices: tuple[str, ...] | None = None
    """The target's; names of the registry."""
    draft_devices: tuple[str, ...] | None = None
    split_mode: SplitMode | None = None
    max_branches: int = 0
    """Of the target's passes, for drafters that branch."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Everything that a plan follows from."""

    hardware: HardwareReport
    target: ModelSizes
    drafts: tuple[ModelSizes, ...] = ()
    """Whole models that may draft, best evidence first."""
    asked: Asked = Asked()
    has_index: bool = False
    """The user's own texts are indexed here, for drafts to come from."""
    lower: tuple[ModelSizes, ...] = ()
    """Models that draft for the draft model, each for the one before it: named by the person."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one model goes and how its context is sized."""

    devices: tuple[str, ...]
    """Names of the backend registry's devices that hold layers, in order; empty: the CPU alone."""
    split: tuple[float, ...]
    """Share of the layers of each device, in the same order; sums to 1, or is empty."""
    n_gpu_layers: int
    """Layers on `devices`, counted from the output layer backwards, that one included."""
    split_mode: SplitMode
    n_ctx: int
    """A draft's may be shorter than its target's: it then reads the latest tokens only."""
    n_batch: int
    """Tokens per native call."""
    max_logits: int
    """Most rows with logits in one pass."""
    kv_type: KvType
    n_snapshots: int = 0
    """Recurrent states kept per sequence for rollback."""
    max_branches: int = 0
    """With any, layers with a window keep the whole context (engine/context.py)."""
    flash_attention: bool = True
    """What llama.cpp will do by itself; without it, attention keeps a score for every cell."""


@dataclass(frozen=True, slots=True)
class Line:
    """One part of the memory: what it is, where it lies, its bytes."""

    what: str
    """For example "target weights", "draft KV", "target compute"."""
    where: str
    """A device's name; "CPU" for the machine's own memory."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Room:
    """One place's memory: what the plan needs there, margin included, and what is free."""

    where: str
    needed_bytes: int
    free_bytes: int | None
    """None: the backend does not say."""
    shared_bytes: int = 0
    """The part of `needed_bytes` whose lines are those of GPUs that have this memory too."""

    @property
    def lacks_bytes(self) -> int:
        """What is missing; 0 where the backend does not say."""
        return 0 if self.free_bytes is None else max(0, self.needed_bytes - self.free_bytes)


@dataclass(frozen=True, slots=True)
class Rung:
    """Something that gave way because memory was short."""

    kind: RungKind
    told: str
    """One sentence for a person, with the numbers."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be loaded, and why it looks like that."""

    hardware: str
    target_id: str
    draft_id: str | None
    target: Placement
    draft: Placement | None
    drafters: tuple[str, ...]
    """Those of the registry that can be built on this, in order of preference: the strategy."""
    reason: str
    """Why this strategy: one sentence."""
    lines: tuple[Line, ...]
    rooms: tuple[Room, ...]
    rungs: tuple[Rung, ...]
    n_ctx_most: int
    """The longest context with which the same would fit."""
    notes: tuple[str, ...] = ()
    """What is not known for certain, for example that sizes are the catalogue's."""
    lower: tuple[Placement, ...] = ()
    """Of the models that draft for the draft model, as they were asked for."""
    lower_ids: tuple[str, ...] = ()
    """Their names."""
