"""Plain decoding as a drafter: it proposes nothing."""

from edgespec.core import Draft, Sampler, Tokens
from edgespec.drafters import DrafterInputs


class NoDrafter:
    """Always an empty draft, so that a step is one token."""

    name = "none"
    needs_draft_model = False

    def __init__(self, inputs: DrafterInputs) -> None:
        """Needs nothing."""

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """An empty draft."""
        return _NOTHING


_NOTHING = Draft()
