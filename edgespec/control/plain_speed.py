"""The speed of plain steps, as a reader of statistics sees it."""

from edgespec.events import PLAIN_STEPS, Step


class PlainSpeed:
    """Speed of plain steps, from those that happen anyway: the base of an honest speed-up."""

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
        return 1 / self._step_s if self._n >= PLAIN_STEPS else None
