"""Retrieval from the conversation itself: what followed the last time it said the same.

Needs no second model, and costs microseconds; it wins where answers repeat their prompt (edits,
quotes, extraction). Source: suffix decoding (Oliaro et al. 2024, arXiv 2411.04975), SAM-Decoding
(Hu et al. 2024, arXiv 2411.10666).
"""

from collections.abc import Callable, Iterator
from itertools import islice

from edgespec.core import Draft, Sampler, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.arms import Bucket, Heard
from edgespec.drafters.automaton import SuffixAutomaton

_LENGTHS = ("1", "2-3", "4-11", "12 and more")
_SHORTEST = (1, 2, 4, 12)
_LONGEST = _SHORTEST[-1]
_CLASS_OF = tuple(
    max(i for i, shortest in enumerate(_SHORTEST) if length >= shortest)
    for length in range(1, _LONGEST + 1)
)
_AGREEMENTS = ("seen once", "always so", "mostly so", "or other")
_PRIORS = (
    (0.40, 0.60, 0.82, 0.97),
    (0.80, 0.90, 0.93, 0.95),
    (0.30,) * len(_SHORTEST),
    (0.15,) * len(_SHORTEST),
)
"""By agreement, then length. Whether the text went on in one way or in several tells more than how
long the match is: of forks, one in six came true at any length. Few classes learn fast: with twice
as many, replays of recorded answers are 1 to 2 % slower."""


class SuffixDrafter:
    """Continues the longest suffix of the context that occurred before, as it went on then.

    Deterministic, and a function of `context` alone: the loop cuts what a grammar forbids.
    Catching up costs 3 us per new token; a context that was cut or replaced is indexed anew, which
    also forgets the old one.
    """

    name = "suffix"
    needs_draft_model = False
    buckets = tuple(
        Bucket(f"match {length}, {agreement}", prior)
        for agreement, priors in zip(_AGREEMENTS, _PRIORS, strict=True)
        for length, prior in zip(_LENGTHS, priors, strict=True)
    )

    def __init__(self, inputs: DrafterInputs) -> None:
        self._is_eog = inputs.is_eog
        self._automaton = SuffixAutomaton()
        self._indexed = b""
        """The context that the automaton holds, byte by byte: compared without an array."""

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens, `match` telling from how long a match; empty where nothing repeats."""
        copied = self.copied(context, k)
        return Draft(copied, match=self._automaton.match.length) if k else Draft()

    def copied(self, context: Tokens, k: int) -> tuple[int, ...]:
        """The tokens of `draft`."""
        self._catch_up(context, _unheard)
        copied = [token for token, _, _ in islice(self._automaton.ahead(), k)]
        return ended(copied, self._is_eog)

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        """The buckets of the tokens that would be drafted; see `arms.Free`."""
        self._catch_up(context, heard)
        return self._buckets()

    def others(self, n: int) -> Iterator[list[tuple[int, int]]]:
        """For each of the next n tokens of `outlook`, which must have been called for this
        context, the likeliest other way on: tokens and their buckets."""
        for way in self._automaton.fork(n):
            yield [(token, bucket_of(length, agreement)) for token, length, agreement in way]

    def _buckets(self) -> Iterator[int]:
        is_eog = self._is_eog
        for token, length, agreement in self._automaton.ahead():
            yield bucket_of(length, agreement)
            if is_eog(token):
                return

    def _catch_up(self, context: Tokens, heard: Heard) -> None:
        n = len(self._automaton.tokens)
        if n == 0 or context[:n].tobytes() != self._indexed:
            self._automaton = SuffixAutomaton()
            self._automaton.extend(context.tolist())
        elif len(context) > n:
            for token in context[n:].tolist():
                self._append(token, heard)
        else:
            return
        self._indexed = context.tobytes()

    def _append(self, token: int, heard: Heard) -> None:
        automaton = self._automaton
        for proposed, length, agreement in automaton.ahead():
            heard(bucket_of(length, agreement), proposed == token)
            break
        automaton.extend((token,))


def _unheard(bucket: int, is_hit: bool) -> None:
    """Nobody learns."""


def bucket_of(length: int, agreement: int) -> int:
    """The number of the bucket of a token that follows a match."""
    at = _CLASS_OF[length - 1] if length < _LONGEST else len(_SHORTEST) - 1
    return agreement * len(_SHORTEST) + at


def ended(tokens: list[int], is_eog: Callable[[int], bool]) -> tuple[int, ...]:
    """`tokens` up to and with the first end of generation."""
    end = next((i for i, token in enumerate(tokens, start=1) if is_eog(token)), len(tokens))
    return tuple(tokens[:end])
