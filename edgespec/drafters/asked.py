"""A drafter's answer to what a controller chose."""

from edgespec.core import Choice, Draft, Drafter, Sampler, Steered, Tokens


def drafted(drafter: Drafter, choice: Choice, context: Tokens, sampler: Sampler) -> Draft:
    """What the drafter says to a controller's choice; empty where it was to read only."""
    if choice.n_read:
        assert isinstance(drafter, Steered), drafter
        drafter.read(context, choice.n_read, sampler)
        return Draft()
    if choice.steering is not None:
        assert isinstance(drafter, Steered), drafter
        return drafter.draft_while(context, choice.k, sampler, choice.steering)
    return drafter.draft(context, choice.k, sampler)
