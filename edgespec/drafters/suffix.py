"""Retrieval from the conversation itself: what followed the last time it said the same.

Needs no second model, and costs microseconds; it wins where answers repeat their prompt (edits,
quotes, extraction). Source: suffix decoding (Oliaro et al. 2024, arXiv 2411.04975), SAM-Decoding
(Hu et al. 2024, arXiv 2411.10666).
"""

from collections.abc import Callable

import numpy as np

from edgespec.core import Draft, Sampler, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.automaton import SuffixAutomaton
from edgespec.drafters.lengths import HitRates, best_length


class SuffixDrafter:
    """Continues the longest suffix of the context that occurred before, as it went on then.

    Deterministic, and a function of `context` alone: the loop cuts what a grammar forbids.
    Catching up costs 2 us per new token; a context that was cut or replaced is indexed anew, which
    also forgets the old one.
    """

    name = "suffix"
    needs_draft_model = False

    def __init__(self, inputs: DrafterInputs) -> None:
        self._is_eog = inputs.is_eog
        self._costs = inputs.costs
        self._automaton = SuffixAutomaton()
        self._hits = HitRates()
        self._indexed: Tokens = np.empty(0, np.int32)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens, `match` telling from how long a match; empty where none pays."""
        return self.draft_if(context, k, above=0.0)

    def draft_if(self, context: Tokens, k: int, *, above: float) -> Draft:
        """As `draft`, but empty unless its expected tokens per second are more than `above`."""
        self._catch_up(context)
        match = self._automaton.match
        if match.length == 0:
            return Draft()
        length, speed = best_length(match.length, self._hits, self._costs, k)
        if length == 0 or speed <= above:
            return Draft()
        copied = continuation(self._automaton.tokens, match.end, length)
        return Draft(ended(copied, self._is_eog), match=match.length)

    def _catch_up(self, context: Tokens) -> None:
        n = len(self._indexed)
        if not np.array_equal(context[:n], self._indexed):
            self._automaton, self._hits, n = SuffixAutomaton(), HitRates(), 0
        self._automaton.extend(context[n:].tolist(), self._hits.observe)
        self._indexed = context.copy()  # the caller's array may be a view of what grows on


def continuation(tokens: list[int], start: int, length: int) -> list[int]:
    """`length` tokens from `start` on; what runs into the end goes on periodically."""
    period = len(tokens) - start
    copied = tokens[start : start + length]
    return [copied[i % period] for i in range(length)]


def ended(tokens: list[int], is_eog: Callable[[int], bool]) -> tuple[int, ...]:
    """`tokens` up to and with the first end of generation."""
    end = next((i for i, token in enumerate(tokens, start=1) if is_eog(token)), len(tokens))
    return tuple(tokens[:end])
