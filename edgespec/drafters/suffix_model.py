"""Retrieval where the conversation repeats itself, the draft model elsewhere."""

import numpy as np

from edgespec.core import Constraint, Draft, Sampler, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.model import ModelDrafter
from edgespec.drafters.suffix import SuffixDrafter


class SuffixModelDrafter:
    """Copies from the context where that is expected to be faster than asking the draft model.

    The model is not run, not even to catch up, while retrieval drafts.
    """

    name = "suffix+model"
    needs_draft_model = True

    def __init__(self, inputs: DrafterInputs) -> None:
        self._suffix = SuffixDrafter(inputs)
        self._model = ModelDrafter(inputs)
        self._model_speed = inputs.model_speed
        self._model_length = inputs.model_length

    @property
    def note(self) -> str:
        """Why the model drafts nothing any more; empty while it works."""
        return self._model.note

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens of one of the two; `match` is 0 for the model's."""
        copied = self._suffix.draft_if(context, k, above=self._model_speed())
        if copied.tokens and is_allowed(copied.tokens[0], sampler.constraint):
            return copied
        drafted = self._model.draft(context, min(k, self._model_length), sampler)
        return drafted if drafted.tokens else self._suffix.draft(context, k, sampler)


def is_allowed(token: int, constraint: Constraint | None) -> bool:
    """Whether a copy that begins with `token` is worth anything: nothing follows what a grammar
    forbids."""
    return constraint is None or bool(constraint.allowed(np.array([token], np.int32))[0])
