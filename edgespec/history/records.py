"""What is kept of a conversation. Plain values; ids are made by whoever begins a chat or a turn,
so that writing the same record twice is the same as writing it once.
"""

import secrets
from dataclasses import dataclass, field
from typing import Any, Literal

Kept = Literal["queued", "running", "complete", "stopped", "error"]
"""How far a turn came; "queued" and "running" of a process that is gone mean: cut off there."""

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without those that look alike: ids are typed after `--resume`."""


def new_chat_id() -> str:
    """Eight letters and digits: 40 bits, short enough to be typed."""
    return "".join(secrets.choice(_LETTERS) for _ in range(8))


def new_turn_id() -> str:
    """Sixteen letters and digits, as nobody types them."""
    return "".join(secrets.choice(_LETTERS) for _ in range(16))


@dataclass(frozen=True, slots=True)
class ChatRecord:
    """One chat without its turns."""

    id: str
    title: str = ""
    system: str = ""
    target: str = ""
    draft: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    """Sampling and limits by name, as JSON has them."""
    summary: str = ""
    """Stands for the turns before `window_id` in what the model sees."""
    window_id: str = ""
    """The oldest turn that the model still sees; empty: all of them."""
    head_id: str = ""
    """The last turn of the branch that was shown last."""
    created_s: float = 0.0
    """Seconds since 1970, as `time.time`."""
    updated_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One message and its answer so far; those with the same parent are branches."""

    id: str
    chat_id: str
    parent_id: str
    """The turn before it; empty for the first of a chat."""
    prompt: str
    text: str = ""
    reasoning: str = ""
    status: Kept = "queued"
    error: str = ""
    """The sentence that was shown, if it failed."""
    stats: dict[str, Any] = field(default_factory=dict)
    target: str = ""
    draft: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    """What this answer was made with."""
    created_s: float = 0.0
    updated_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SavedChat:
    """A chat and its turns, oldest first: a parent is always before its children."""

    chat: ChatRecord
    turns: tuple[TurnRecord, ...]

    def path(self) -> tuple[TurnRecord, ...]:
        """The branch that was shown last, from its first turn on."""
        by_id = {turn.id: turn for turn in self.turns}
        at = by_id.get(self.chat.head_id) or (self.turns[-1] if self.turns else None)
        path: list[TurnRecord] = []
        while at is not None:
            path.append(by_id.pop(at.id))  # taken out: a circle in a file from elsewhere ends
            at = by_id.get(at.parent_id)
        return tuple(reversed(path))


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A chat as a list shows it."""

    id: str
    title: str
    target: str
    n_turns: int
    """Branches included."""
    created_s: float
    updated_s: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where the words that were searched for stand."""

    chat_id: str
    turn_id: str
    title: str
    role: Literal["user", "assistant"]
    excerpt: str
    """One line, as it was written: clean it before it is shown."""
    spans: tuple[tuple[int, int], ...]
    """Half-open intervals of `excerpt` that match."""
    updated_s: float
