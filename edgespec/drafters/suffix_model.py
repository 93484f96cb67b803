"""Retrieval where the conversation repeats itself, the draft model elsewhere."""

import numpy as np

from edgespec.core import Constraint, Draft, Sampler, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.model import ModelDrafter
from edgespec.drafters.suffix import SuffixDrafter

_LIKELY = 0.5
"""Copies are taken where at least every second one comes true."""


class SuffixModelDrafter:
    """Copies from the context where the copy will likely be right, and asks the model elsewhere.

    The model is not run, not even to catch up, while retrieval drafts. This is the rule for a
    length that was set; where it is not, the controller chooses among the two at each step.
    """

    name = "suffix+model"
    needs_draft_model = True

    def __init__(self, inputs: DrafterInputs) -> None:
        self._suffix = SuffixDrafter(inputs)
        self._model = ModelDrafter(inputs)

    @property
    def note(self) -> str:
        """Why the model drafts nothing any more; empty while it works."""
        return self._model.note

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens of one of the two; `match` is 0 for the model's."""
        first = next(self._suffix.outlook(context, _unheard), None)
        copied = self._suffix.draft(context, k, sampler)
        is_likely = first is not None and SuffixDrafter.buckets[first].prior >= _LIKELY
        if is_likely and copied.tokens and is_allowed(copied.tokens[0], sampler.constraint):
            return copied
        drafted = self._model.draft(context, k, sampler)
        return drafted if drafted.tokens else copied


def _unheard(bucket: int, is_hit: bool) -> None:
    """Nothing is learned."""


def is_allowed(token: int, constraint: Constraint | None) -> bool:
    """Whether a copy that begins with `token` is worth anything: nothing follows what a grammar
    forbids."""
    return constraint is None or bool(constraint.allowed(np.array([token], np.int32))[0])
