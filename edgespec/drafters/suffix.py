"""Retrieval from the conversation itself: what followed the last time it said the same.

Needs no second model, and costs microseconds; it wins where answers repeat their prompt (edits,
quotes, extraction). Source: suffix decoding (Oliaro et al. 2024, arXiv 2411.04975), SAM-Decoding
(Hu et al. 2024, arXiv 2411.10666).
"""

from collections.abc import Callable

import numpy as np

from edgespec.core import Constraint, Draft, Sampler, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.automaton import SuffixAutomaton

_LENGTHS = ((32, 31), (5, 15), (2, 3), (1, 3))
"""(shortest match, draft length), longest match first.

The longer the match, the further its continuation holds; and drafts of 3, 15 and 31 make passes
of 4, 16 and 32 rows, widths that quantised kernels like. Chosen by replaying greedy answers of
Qwen2.5-Coder-1.5B to seven prompts against its measured pass times on two cores.
"""
_SINGLE_HIT_RATE = 0.3
"""A match of one token is worth a draft only where such matches came true lately: in JSON and
quotes two of three do, in free prose one of eight."""


class SuffixDrafter:
    """Continues the longest suffix of the context that occurred before, as it went on then.

    Deterministic, and a function of `context` alone. Catching up costs 2 us per new token; a
    context that was cut or replaced is indexed anew, which also forgets the old one.
    """

    name = "suffix"
    needs_draft_model = False
    is_pure = True

    def __init__(self, inputs: DrafterInputs) -> None:
        self._is_eog = inputs.is_eog
        self._automaton = SuffixAutomaton()
        self._indexed: Tokens = np.empty(0, np.int32)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens, `match` telling from how long a match; empty without one."""
        self._catch_up(context)
        match = self._automaton.match
        length = min(k, self._length(match.length))
        if length <= 0:
            return Draft()
        copied = continuation(self._automaton.tokens, match.end, length)
        return Draft(lawful(copied, self._is_eog, sampler.constraint), match=match.length)

    def _catch_up(self, context: Tokens) -> None:
        n = len(self._indexed)
        if not np.array_equal(context[:n], self._indexed):
            self._automaton, n = SuffixAutomaton(), 0
        self._automaton.extend(context[n:].tolist())
        self._indexed = context.copy()  # the caller's array may be a view of what grows on

    def _length(self, match: int) -> int:
        if match == 1 and self._automaton.single_hit_rate < _SINGLE_HIT_RATE:
            return 0
        return next((length for shortest, length in _LENGTHS if match >= shortest), 0)


def continuation(tokens: list[int], start: int, length: int) -> list[int]:
    """`length` tokens from `start` on; what runs into the end goes on periodically."""
    period = len(tokens) - start
    copied = tokens[start : start + length]
    return [copied[i % period] for i in range(length)]


def lawful(
    tokens: list[int], is_eog: Callable[[int], bool], constraint: Constraint | None
) -> tuple[int, ...]:
    """`tokens` up to the first that `constraint` forbids, and up to and with an end of generation.

    Only for deterministic drafts: a sampled one may not drop what it drew.
    """
    kept: list[int] = []
    for token in tokens:
        if constraint is not None and not constraint.allowed(np.array([token], np.int32))[0]:
            break
        kept.append(token)
        if is_eog(token):
            break
        if constraint is not None:
            constraint = constraint.advanced(token)
    return tuple(kept)
