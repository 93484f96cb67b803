"""A draft model whose own drafts are drafted: retrieval or a smaller model under it, to any depth.

Lossless by composition: what it drafts is the draft model's, drawn from its own distributions (see
`guessed`), which are judged against the target's as ever.
"""

from collections.abc import Callable
from itertools import islice, takewhile

from edgespec.core import Choice, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.echo import Echo
from edgespec.drafters.guessed import Guessed, Tally, Tier
from edgespec.drafters.model import ModelDrafter
from edgespec.drafters.none import NoDrafter
from edgespec.events import Step

_LIKELY = 0.5
"""Guesses are made where at least every second one comes true,"""
_LONGEST = 7
"""up to so many: a pass over 8 rows is where most backends change kernels."""


class CascadeDrafter(ModelDrafter):
    """The model drafter with fewer passes."""

    name = "cascade"

    def __init__(self, inputs: DrafterInputs) -> None:
        super().__init__(inputs)
        under = inputs.under or retrieval_alone(inputs)
        self._passes = guessed = Guessed(self._session, self._translation, under)
        self._tally = guessed.tally

    @property
    def tally(self) -> Tally:
        """Of the draft model's passes."""
        return self._tally


def retrieval_alone(inputs: DrafterInputs) -> Callable[[], Tier]:
    """What is under a draft model where no costs are known."""
    echo = Echo(inputs.is_eog)
    tier = Tier({"none": NoDrafter(inputs), echo.name: echo}, _Likely(echo))
    return lambda: tier


class _Likely:
    """A controller by what is usual."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo

    def choose(self, context: Tokens, budget: int) -> Choice:
        """As far as guesses are likely."""
        buckets = self._echo.outlook(context, lambda bucket, is_hit: None)
        rates = (Echo.buckets[bucket].prior for bucket in islice(buckets, min(budget, _LONGEST)))
        return Choice(Echo.name, sum(1 for _ in takewhile(lambda rate: rate >= _LIKELY, rates)))

    def observe(self, step: Step) -> None:
        """Nothing is learned."""


class LowerModel(ModelDrafter):
    """A smaller model under a draft model, within one request.

    The context that it goes on from ends with a draft on trial, so it may be cut as well as grow.
    """

    def __init__(self, inputs: DrafterInputs) -> None:
        super().__init__(inputs)
        if inputs.under is not None:
            self._passes = Guessed(self._session, self._translation, inputs.under)

    def _continue(self, context: Tokens) -> None:
        before = self._context
        if len(before) and not _begins_with(context, before):
            self._reading.back(self._translation.context(context))
            self._context = context.copy()  # the caller's array may be a view of what grows on
            self._drafted = ()
        else:
            super()._continue(context)


def _begins_with(context: Tokens, before: Tokens) -> bool:
    n = len(before)
    return len(context) >= n and bool((context[:n] == before).all())
