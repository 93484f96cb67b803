"""What a request tells while it runs: steps, events and statistics. Imports nothing heavy.

The words are vLLM's and llama.cpp's (#24536): a *step* is one round of draft and verification
with exactly one target pass; a *round* in the statistics is a step that had a draft.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

FinishReason = Literal["stop", "length", "cancelled", "context_full", "error"]
DraftMode = Literal["auto", "on", "off"]
"""What a person wants of the steps to come: drafts where they pay, one at every step, none."""
Source = Literal["accepted", "recovered", "bonus", "plain"]
"""Where a token came from: an accepted draft token; the target's own token after a refused draft
(recovered), after a fully accepted one (bonus), or without any draft (plain)."""


PLAIN_STEPS = 8
"""Plain steps after which the speed of plain decoding counts as measured."""


def sources(drafted: int, accepted: int) -> tuple[Source, ...]:
    """Where the accepted tokens of a step and the target's own behind them come from."""
    own: Source = "plain"
    if drafted:
        own = "bonus" if accepted == drafted else "recovered"
    taken: Source = "accepted"
    return (*(taken,) * accepted, own)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """What the target thought of one token, before sampling shaped its law."""

    token: int
    logprob: float
    """Natural logarithm of its probability; -inf where it is impossible."""
    text: str = ""
    """Its text; a part of a character as U+FFFD."""
    top: tuple["TokenLogprob", ...] = ()
    """The likeliest tokens in its place, descending; as many as were asked for."""


@dataclass(frozen=True, slots=True)
class Step:
    """One round of the loop: what was drafted, what the target took, what it cost."""

    drafter: str
    draft: tuple[int, ...]
    """The proposed token ids, whether accepted or not."""
    tokens: tuple[int, ...]
    """The committed token ids: accepted draft tokens, then one of the target's own."""
    accepted: int
    """Draft tokens that were accepted and committed."""
    discarded: int
    """Draft tokens that were accepted, then cut off by an end of generation or a limit."""
    rows: int
    """Tokens decoded by the target in this step, re-decoded ones included."""
    draft_s: float
    target_s: float
    verify_s: float
    step_s: float
    """Wall time of the whole step; what is not draft, target or verify is overhead."""
    context: int
    """Committed tokens before the step."""
    match: int = 0
    """Length of the match a retrieval drafter drafted from; 0 for others."""
    logprobs: tuple[TokenLogprob, ...] = ()
    """One for each of `tokens` where they were asked for."""

    @property
    def drafted(self) -> int:
        """Proposed tokens."""
        return len(self.draft)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where each committed token came from."""
        return sources(self.drafted, self.accepted + self.discarded)[: len(self.tokens)]


@dataclass(frozen=True, slots=True)
class Stats:
    """A fold of steps; survives cancelling and breaking off. All counts are of this request."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens whose keys and values were resident already."""
    generated_tokens: int = 0
    passes: int = 0
    """Target passes that decided tokens (one per step)."""
    rounds: int = 0
    """Steps that had a draft."""
    drafted: int = 0
    accepted: int = 0
    discarded: int = 0
    accepted_at: tuple[int, ...] = ()
    """accepted_at[i]: rounds in which draft position i was accepted."""
    ttft_s: float | None = None
    prefill_s: float = 0.0
    decode_s: float = 0.0
    draft_s: float = 0.0
    target_s: float = 0.0
    verify_s: float = 0.0
    drafter: str = "none"
    """The drafter in force."""
    drafter_note: str = ""
    """Why the drafter asked for is not in force; empty when it is."""
    plain_tokens_per_s: float | None = None
    """Measured speed of plain steps on this model; None until enough were seen."""
    finish_reason: FinishReason | None = None

    @property
    def rejected(self) -> int:
        """Draft tokens that were refused or came after a refused one."""
        return self.drafted - self.accepted - self.discarded

    @property
    def acceptance_rate(self) -> float | None:
        """accepted / (accepted + rejected); None without drafts."""
        judged = self.accepted + self.rejected
        return self.accepted / judged if judged else None

    @property
    def mean_acceptance_length(self) -> float | None:
        """Tokens per round, the target's own included (llama.cpp #24536); None without rounds."""
        return 1 + self.accepted / self.rounds if self.rounds else None

    @property
    def acceptance_per_position(self) -> tuple[float, ...]:
        """accepted_at / rounds."""
        return tuple(n / self.rounds for n in self.accepted_at) if self.rounds else ()

    @property
    def decode_tokens_per_s(self) -> float | None:
        """Generated tokens after prefill over the time of their steps."""
        return self.generated_tokens / self.decode_s if self.decode_s else None

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """Prompt tokens really decoded over the time it took."""
        fresh = self.prompt_tokens - self.cached_tokens
        return fresh / self.prefill_s if self.prefill_s and fresh > 0 else None

    @property
    def overhead_s(self) -> float:
        """Decode time that is neither draft, target pass nor verification."""
        return max(0.0, self.decode_s - self.draft_s - self.target_s - self.verify_s)

    @property
    def speedup(self) -> float | None:
        """Speed against the measured plain steps; None while there is no measurement or draft."""
        speed, plain = self.decode_tokens_per_s, self.plain_tokens_per_s
        return speed / plain if speed and plain and self.rounds else None

    def to_dict(self) -> dict[str, Any]:
        """Every field and ratio by name, for JSON."""
        names = [*self.__dataclass_fields__, *_RATIOS]
        return {name: getattr(self, name) for name in names}


_RATIOS = (
    "rejected",
    "acceptance_rate",
    "mean_acceptance_length",
    "acceptance_per_position",
    "decode_tokens_per_s",
    "prefill_tokens_per_s",
    "overhead_s",
    "speedup",
)


@dataclass(frozen=True, slots=True)
class TokenText:
    """One committed token of an answer."""

    id: int
    text: str
    """Its text; empty while a character is still incomplete."""
    source: Source
    p_draft: float | None = None
    """How likely the drafter found it, of an accepted token of a sampled draft; None elsewhere: a
    copied or a greedy draft has no distribution."""


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """The prompt is being read: `done` of `total` tokens, `cached` of them for free.

    The last one comes at `total - 1`: the answer's first pass reads the last token.
    """

    done: int
    total: int
    cached: int
    kind: Literal["prompt"] = "prompt"


@dataclass(frozen=True, slots=True)
class Delta:
    """New text: whole characters only, never part of a stop string."""

    kind: Literal["text", "reasoning"]
    text: str
    tokens: tuple[TokenText, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """A step ended; `pieces` are the texts of `step.draft`, for display."""

    step: Step
    stats: Stats
    """The request's statistics so far."""
    pieces: tuple[str, ...] = ()
    kind: Literal["round"] = "round"


@dataclass(frozen=True, slots=True)
class Done:
    """The last event of a request."""

    stats: Stats
    kind: Literal["done"] = "done"


Event = PromptProgress | Delta | Round | Done


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    text: str
    reasoning: str
    stats: Stats
    tokens: tuple[int, ...] = field(default=(), repr=False)
    logprobs: tuple[TokenLogprob, ...] = field(default=(), repr=False)
    """One for each of `tokens` where they were asked for."""
