"""What was chosen at each step, and why, in numbers: the shapes that `explain()` gives.

Imports nothing heavy. Everything is JSON-able by `to_dict`; times are seconds.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Reason = Literal["gain", "plain", "fixed", "probe", "read", "refresh", "guarded"]
"""Why a step was taken as it was."""

REASONS: dict[Reason, str] = {
    "gain": "this draft promised more tokens for its time",
    "plain": "no draft promised more than a plain step",
    "fixed": "drafter and length were set by you",
    "probe": "a drafter not asked for long was tried",
    "read": "the draft model read text, which pays later",
    "refresh": "a plain step, to measure plain decoding anew",
    "guarded": "a draft promised more, but risked more than the bound allows",
}
"""Each in words for a person."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One step: the choice as it looked before, and what came of it."""

    context: int
    """Committed tokens before the step."""
    drafter: str
    """"none" for a plain step."""
    k: int
    """Draft tokens that were asked for; a draft model may have stopped earlier."""
    reason: Reason
    bucket: str
    """What the drafter showed for its first token, as "match 6-8" or "sure 85-95 %"; may be
    empty."""
    expected_tokens: float
    expected_s: float
    expected_plain_s: float
    """What a plain step was expected to take."""
    rate: float
    """Tokens per second that a step had to promise more than."""
    drafted: int
    accepted: int
    tokens: int
    took_s: float
    ledger_s: float
    """Time lost against plain decoding by then, less what the bound grants; below 0: gained."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """How often drafted tokens of one kind came true."""

    bucket: str
    rate: float
    """Estimate, from lately and from long ago."""
    seen: float
    """Tokens behind the estimate; old ones count less."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to decode, over all steps of the answer."""

    drafter: str
    steps: int
    drafted: int
    accepted: int
    tokens: int
    """Committed tokens, the target's own included."""
    took_s: float
    acceptance: tuple[Acceptance, ...]
    """By kind of token; empty for plain decoding."""
    note: str = ""
    """Why it is not used, where that is decided: in words for a person."""


@dataclass(frozen=True, slots=True)
class PassCost:
    """A target pass over some rows."""

    rows: int
    measured_s: float
    """At load."""
    now_s: float
    """With what was seen since."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The promise: time <= (1 + share) * plain + head_start, at every moment of an answer."""

    share: float
    head_start_s: float
    ledger_s: float
    """Now: time beyond (1 + share) * plain. Never above `head_start_s` as far as costs were
    foreseen."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """What a draft model's own drafts took, with what drafted for it."""

    drafted: int
    """Tokens that the draft model was asked for: as many passes without a cascade."""
    passes: int
    rows: int
    """Of all passes."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The last answer, or the running one: what was chosen and why."""

    drafter: str
    """As asked for: a registry name, or "auto"."""
    draft_len: int | None
    """As asked for; None: chosen at every step."""
    arms: tuple[Arm, ...]
    """Plain decoding first."""
    decisions: tuple[Decision, ...]
    """The last steps, oldest first; not all of a long answer."""
    costs: tuple[PassCost, ...]
    draft_token_s: float | None
    """A draft model's token; None without one."""
    draft_read_s: float | None
    """A token of context that a draft model has to read first."""
    steps: int
    tokens: int
    took_s: float
    plain_s: float | None
    """What the same tokens would have taken plainly, as estimated; None before the first step."""
    bound: Bound | None
    """None where drafter and length are fixed: then nothing is promised."""
    reasons: dict[Reason, int]
    """Steps by what they were taken for."""
    cascade: Cascade | None = None
    """None where no draft model was asked, or nothing drafts for it."""

    @property
    def speedup(self) -> float | None:
        """Estimated; None before the first step."""
        return self.plain_s / self.took_s if self.plain_s and self.took_s else None

    @property
    def reasons_in_words(self) -> list[tuple[int, str]]:
        """Steps, and what they were taken for; the most frequent first."""
        counted = sorted(self.reasons.items(), key=lambda item: -item[1])
        return [(n, REASONS[reason]) for reason, n in counted]

    def to_dict(self) -> dict[str, Any]:
        """All fields and the speed-up, for JSON."""
        return {**asdict(self), "speedup": self.speedup}
