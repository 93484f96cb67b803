"""Which drafter, and at most how many tokens: the seam of the controller, a plain rule behind it.

Sees contexts, finished steps and measured costs; knows no models.
"""

from dataclasses import dataclass, replace

from edgespec.core import Choice, Tokens
from edgespec.costs import LiveCosts, PassCosts, RowCosts
from edgespec.events import Step

LONGEST = 63
"""Most draft tokens per step of retrieval, which sets its length by match and costs: passes of 64
rows are where a processor's matrix kernels change once more, to the better."""
MODEL_LENGTHS = (3, 7)
"""Draft lengths to choose from for a draft model: 4 and 8 rows, where kernels are at their best."""
TYPICAL_ACCEPTANCE = 0.75
"""Of a draft model's tokens, over the benchmark's prompts."""


class Fixed:
    """One drafter and one limit for every step; lets `costs` see what the steps took."""

    def __init__(self, drafter: str, draft_len: int, costs: LiveCosts | None = None) -> None:
        self.drafter = drafter
        self._draft_len = draft_len
        self._costs = costs

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The drafter, with at most `budget` tokens."""
        return Choice(self.drafter, min(self._draft_len, budget))

    def observe(self, step: Step) -> None:
        """Learn what a pass costs now."""
        is_pure = step.rows == step.drafted + 1  # else it also read what it had lost
        if self._costs is not None and is_pure:
            self._costs.observe(step.rows, step.target_s)


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of the target's passes and of a draft token, as measured."""

    target: RowCosts
    draft_s: float | None
    """None: there is no draft model."""

    def live(self) -> "Costs":
        """The same, following what is observed from now on."""
        assert isinstance(self.target, PassCosts), "live already"
        return replace(self, target=LiveCosts(self.target))

    def model_speed(self, k: int) -> float:
        """Expected tokens per second with k tokens of the draft model, at usual acceptance.

        0 without one.
        Source: Leviathan et al. 2023, Theorem 3.8, with the measured pass in place of a free one.
        """
        if self.draft_s is None:
            return 0.0
        a = TYPICAL_ACCEPTANCE
        n_tokens = (1 - a ** (k + 1)) / (1 - a)
        return n_tokens / (self.target.of(k + 1) + k * self.draft_s)

    @property
    def model_length(self) -> int:
        """The draft model's length with the best speed."""
        return max(MODEL_LENGTHS, key=self.model_speed)


def auto_drafter(costs: Costs) -> tuple[str, str]:
    """The drafter for "auto", and why: retrieval always, the draft model where it gains."""
    if costs.draft_s is None:
        return "suffix", ""
    plain_s = costs.target.plain_s
    gain = costs.model_speed(costs.model_length) * plain_s
    if gain > 1:
        return "suffix+model", ""
    return "suffix", (
        f"the draft model is left out: a draft token costs {costs.draft_s * 1e3:.0f} ms and a "
        f"target step {plain_s * 1e3:.0f} ms here, which gives {gain:.2f} times the plain speed "
        "at best"
    )


def draft_lengths(costs: Costs) -> dict[str, int]:
    """Most draft tokens per step, by drafter."""
    model = MODEL_LENGTHS[0] if costs.draft_s is None else costs.model_length
    return {"none": 0, "suffix": LONGEST, "model": model, "suffix+model": LONGEST}


class PlainSpeed:
    """Speed of plain steps, from those that happen anyway: the base of an honest speed-up."""

    _LEAST = 8
    _WEIGHT = 0.1

    def __init__(self) -> None:
        self._n = 0
        self._step_s = 0.0

    def observe(self, step: Step) -> None:
        """Learn from a step without a draft."""
        if step.drafted:
            return
        self._n += 1
        weight = max(self._WEIGHT, 1 / self._n)
        # A drafter that drafts nothing may still have read its prompt: not plain decoding's cost.
        self._step_s += weight * (step.step_s - step.draft_s - self._step_s)

    @property
    def tokens_per_s(self) -> float | None:
        """None until enough plain steps were seen."""
        return 1 / self._step_s if self._n >= self._LEAST else None
