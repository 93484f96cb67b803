"""Which drafter, how many tokens: the seam of the controller, with a fixed rule behind it.

Sees contexts and finished steps only. The measured, self-correcting controller takes this place.
"""

from dataclasses import dataclass

from edgespec.core import Choice, Tokens
from edgespec.events import Step

DRAFT_LEN = {"none": 0, "suffix": 31, "model": 4, "suffix+model": 31}
"""Most draft tokens per step. Retrieval sets its length by its match up to this; 31 drafts make 32
rows, the last size before the kernels' next step. A draft model stops by its own confidence."""


class Fixed:
    """One drafter and one limit for every step."""

    def __init__(self, drafter: str, draft_len: int) -> None:
        self._drafter = drafter
        self._draft_len = draft_len

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The drafter, with at most `budget` tokens."""
        return Choice(self._drafter, min(self._draft_len, budget))

    def observe(self, step: object) -> None:
        """Nothing is learned."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured at load: seconds of one target step, of one with a draft, and of a draft token."""

    plain_s: float
    verify_s: float
    """A target pass over `n_verify` rows."""
    n_verify: int
    draft_s: float

    def model_gain(self, acceptance: float = 0.75) -> float:
        """Expected speed of drafting with the model over plain decoding, at an acceptance rate.

        Source: Leviathan et al. 2023, Theorem 3.8, with the measured pass in place of a free one.
        """
        k = self.n_verify - 1
        n_tokens = (1 - acceptance ** (k + 1)) / (1 - acceptance)
        return n_tokens * self.plain_s / (self.verify_s + k * self.draft_s)


def auto_drafter(costs: Costs | None) -> tuple[str, str]:
    """The drafter for "auto", and why: retrieval always, the draft model where it gained.

    `costs` None: there is no draft model.
    """
    if costs is None:
        return "suffix", ""
    gain = costs.model_gain()
    if gain > 1:
        return "suffix+model", ""
    return "suffix", (
        f"the draft model is left out: a draft token costs {costs.draft_s * 1e3:.0f} ms and a "
        f"step {costs.plain_s * 1e3:.0f} ms here, {gain:.2f}x plain at 75 % acceptance"
    )


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
        self._step_s += weight * (step.step_s - self._step_s)

    @property
    def tokens_per_s(self) -> float | None:
        """None until enough plain steps were seen."""
        return 1 / self._step_s if self._n >= self._LEAST else None
