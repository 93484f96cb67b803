"""What a chat is made of: turns, their states, and the updates a front end draws.

Plain dataclasses; knows neither threads nor widgets.
"""

from dataclasses import dataclass, field
from typing import Literal

from edgespec.api.types import LanguageModel
from edgespec.errors import EdgespecError
from edgespec.events import Delta, PromptProgress, Round, Stats

State = Literal[
    "BOOT", "LOADING", "READY", "PREFILL", "THINKING", "GENERATING", "STOPPING", "ERROR"
]
Status = Literal["queued", "running", "complete", "stopped", "error"]

CONTEXT_WARNING = 0.8
"""Share of the context from which a person is warned."""


def ratio(stats: Stats) -> float | None:
    """Speed against plain decoding; None where no draft could have changed it.

    Without drafts the two speeds are the same thing at different moments: noise, no result.
    """
    return stats.speedup if stats.rounds else None


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """What loading is doing."""

    phase: str
    """For example "loading qwen3-14b"."""
    fraction: float | None = None
    """Done so far, 0 to 1; None where it cannot be known."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The model is there."""

    model: LanguageModel


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """There is no model; `send` tries again."""

    error: EdgespecError


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The last update of a turn."""

    status: Status
    stats: Stats
    error: EdgespecError | None = None


Update = LoadProgress | Loaded | LoadFailed | PromptProgress | Delta | Round | TurnEnded


@dataclass(slots=True, eq=False)
class Turn:
    """One message and its answer so far; changed by `ChatController.drain` only."""

    prompt: str
    status: Status = "queued"
    text: str = ""
    """Raw: goes back to the model and to the clipboard; clean it before showing it."""
    reasoning: str = ""
    reasoning_tokens: int = 0
    reasoning_s: float = 0.0
    """Decode time until the answer began."""
    own_text: str = ""
    """The target's own token of the last drafted step."""
    stats: Stats = field(default_factory=Stats)
    progress: PromptProgress | None = None
    last_round: Round | None = None
    error: EdgespecError | None = None
    is_replaced: bool = False
    """Regenerated: still shown, no longer part of the conversation."""


@dataclass(frozen=True, slots=True)
class DraftState:
    """Whether the next answer drafts, as a word and a reason."""

    word: Literal["ON", "OFF", "NONE"]
    name: str
    """The drafter's registry name."""
    note: str = ""
    """Why the drafter asked for is not in force."""


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """How full the context is after the last answer."""

    n_tokens: int
    n_ctx: int

    @property
    def fraction(self) -> float:
        """0 to 1; 0 without a model."""
        return self.n_tokens / self.n_ctx if self.n_ctx else 0.0

    @property
    def is_near_full(self) -> bool:
        """Whether to warn."""
        return self.fraction >= CONTEXT_WARNING
