"""What a chat is made of: turns, their states, and the updates a front end draws.

Plain dataclasses; knows neither threads nor widgets.
"""

import time
from dataclasses import dataclass, field
from typing import Literal

from edgespec.api.types import LanguageModel
from edgespec.errors import EdgespecError
from edgespec.events import Delta, DraftMode, PromptProgress, Round, Stats
from edgespec.history.records import new_turn_id

State = Literal[
    "BOOT",
    "LOADING",
    "READY",
    "PREFILL",
    "THINKING",
    "GENERATING",
    "SUMMARISING",
    "STOPPING",
    "FULL",
    "ERROR",
]
"""FULL: a message waits for one of `ChatController.full`'s choices."""
Status = Literal["queued", "running", "complete", "stopped", "error"]

CONTEXT_WARNING = 0.8
"""Share of the context from which a person is warned."""


def ratio(stats: Stats) -> float | None:
    """Speed against plain decoding; None where no draft could have changed it.

    Without drafts the two speeds are the same thing at different moments: noise, no result.
    """
    return stats.speedup if stats.rounds else None


def line_of(text: str, width: int) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def counted(n: int, what: str) -> str:
    """`1 turn`, `3 turns`."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


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
    is_before: bool = False
    """It is the one before a change that failed or was given up."""


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """There is no model; `send` tries again."""

    error: EdgespecError


@dataclass(frozen=True, slots=True)
class LoadStopped:
    """A person gave up loading; `send` begins it again."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The last update of a turn."""

    status: Status
    stats: Stats
    error: EdgespecError | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person has to know: a sentence for the log of the conversation."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Returned:
    """A message that waited will not be sent; `text` belongs back into the prompt."""

    turn: "Turn"
    text: str


ChoiceKind = Literal["drop", "summarise", "larger", "anyway", "new", "cancel"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One way on when the context is full."""

    kind: ChoiceKind
    told: str
    """What it does, with the numbers: one sentence."""
    turns: tuple["Turn", ...] = ()
    """drop, summarise: the turns that the model will not see any more."""
    n_ctx: int = 0
    """larger: the new size."""


@dataclass(frozen=True, slots=True)
class ContextFull:
    """A message and its conversation leave no room for an answer: nothing was dropped yet."""

    needed: int
    """Tokens of the prompt."""
    limit: int
    """Tokens the context holds."""
    choices: tuple[Choice, ...]

    @property
    def sentence(self) -> str:
        """What is the matter."""
        if self.needed < self.limit:
            return (
                f"the context is nearly full: the conversation takes {self.needed:,} of "
                f"{self.limit:,} tokens and leaves {self.limit - self.needed:,} for the answer"
            )
        return (
            f"the context is full: the conversation takes {self.needed:,} tokens, "
            f"and {self.limit:,} fit"
        )


@dataclass(frozen=True, slots=True)
class Summarised:
    """The oldest turns became a summary."""

    text: str
    turns: tuple["Turn", ...]


OfTurn = PromptProgress | Delta | Round | TurnEnded | ContextFull | Summarised
Update = LoadProgress | Loaded | LoadFailed | LoadStopped | Notice | Returned | OfTurn


@dataclass(slots=True, eq=False)
class Turn:
    """One message and its answer so far; changed by `ChatController.drain` only.

    Turns with the same parent are branches of the conversation.
    """

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
    id: str = field(default_factory=new_turn_id)
    parent: "Turn | None" = None
    """The turn before it; None for the first."""
    created_s: float = field(default_factory=time.time)
    """Seconds since 1970."""
    target: str = ""
    """The model that answered, and its draft model."""
    draft: str = ""
    reading_from_s: float | None = None
    """`time.monotonic` when the model began to read the prompt."""


@dataclass(frozen=True, slots=True)
class DraftState:
    """Whether the next answer drafts, as a word and a reason."""

    word: Literal["ON", "OFF", "NONE"]
    name: str
    """The drafter's registry name."""
    note: str = ""
    """Why the drafter asked for is not in force."""
    is_forced: bool = False
    """Whether a person wants a draft at every step, also where none seems worth it."""

    @property
    def mode(self) -> DraftMode:
        """What an answer under way is told."""
        if self.name == "none":
            return "off"
        return "on" if self.is_forced else "auto"


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


@dataclass(frozen=True, slots=True)
class Reading:
    """How far the prompt is read."""

    done: int
    total: int
    cached: int
    tokens_per_s: float | None = None
    """None until there is something to divide by."""

    @property
    def left_s(self) -> float | None:
        """Seconds until it is read, at this speed."""
        return (self.total - self.done) / self.tokens_per_s if self.tokens_per_s else None
