"""Which drafter, how many tokens: the seam of the controller, with a fixed rule behind it.

Sees contexts and finished steps only. The measured, self-correcting controller takes this place.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from edgespec.core import Choice, Tokens
from edgespec.events import Step

LONGEST = 31
"""Most draft tokens per step of retrieval, which sets its length by its match: 31 drafts make 32
rows, the last size before the kernels' next step."""
MODEL_LENGTHS = (3, 7)
"""Draft lengths to choose from for a draft model: 4 and 8 rows, where kernels are at their best."""
TYPICAL_ACCEPTANCE = 0.75
"""Of a draft model's tokens, over the benchmark's prompts."""


class Fixed:
    """One drafter and one limit for every step."""

    def __init__(self, drafter: str, draft_len: int) -> None:
        self.drafter = drafter
        self._draft_len = draft_len

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The drafter, with at most `budget` tokens."""
        return Choice(self.drafter, min(self._draft_len, budget))

    def observe(self, step: object) -> None:
        """Nothing is learned."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured at load: seconds of a target step, of verifications, and of a draft token."""

    plain_s: float
    verify_s: Mapping[int, float]
    """A target pass by the length of the draft it verifies."""
    draft_s: float

    def model_gain(self, k: int) -> float:
        """Expected speed over plain decoding with k drafted tokens, at the typical acceptance.

        Source: Leviathan et al. 2023, Theorem 3.8, with the measured pass in place of a free one.
        """
        a = TYPICAL_ACCEPTANCE
        n_tokens = (1 - a ** (k + 1)) / (1 - a)
        return n_tokens * self.plain_s / (self.verify_s[k] + k * self.draft_s)

    @property
    def model_length(self) -> int:
        """The draft length with the largest gain."""
        return max(self.verify_s, key=self.model_gain)


def auto_drafter(costs: Costs | None) -> tuple[str, str]:
    """The drafter for "auto", and why: retrieval always, the draft model where it gains.

    `costs` None: there is no draft model.
    """
    if costs is None:
        return "suffix", ""
    gain = costs.model_gain(costs.model_length)
    if gain > 1:
        return "suffix+model", ""
    return "suffix", (
        f"the draft model is left out: a draft token costs {costs.draft_s * 1e3:.0f} ms and a "
        f"target step {costs.plain_s * 1e3:.0f} ms here, {gain:.2f} times plain at best"
    )


def draft_lengths(costs: Costs | None) -> dict[str, int]:
    """Most draft tokens per step, by drafter."""
    model = costs.model_length if costs else MODEL_LENGTHS[0]
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
