"""Retrieval under a draft model: what the conversation said before, where a draft has come to.

A draft's tokens are on trial: most of them may be gone at the next step. They are looked up and not
indexed, so that what is remembered is what was committed.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from edgespec.core import Draft, Sampler, Tokens
from edgespec.drafters.arms import Heard
from edgespec.drafters.automaton import SuffixAutomaton
from edgespec.drafters.suffix import SuffixDrafter, bucket_of, ended


class Place(NamedTuple):
    """Where a text that is not all indexed stands in the index."""

    state: int
    length: int
    """Of its longest suffix that occurs."""


class Lookup(SuffixAutomaton):
    """An index that a text can be followed in without becoming a part of it."""

    @property
    def place(self) -> Place:
        """Where the indexed text itself stands."""
        return Place(self._matched, self.match.length)

    def after(self, place: Place, token: int) -> Place:
        """One token on."""
        state, length = place
        while (child := self._child(state, token)) is None:
            state = self._links[state]
            if state < 0:
                return Place(0, 0)
            length = self._lengths[state]
        return Place(child, length + 1)

    def from_place(self, place: Place) -> Iterator[tuple[int, int, int]]:
        """As `ahead`, from there."""
        for token, length, agreement, _ in self._walked(*place):
            yield token, length, agreement

    def _child(self, state: int, token: int) -> int | None:
        out = self._edges[state]
        if not isinstance(out, int):
            return out.get(token)
        at = out >> 1
        return out + 2 if at < len(self.tokens) and self.tokens[at] == token else None


class Echo:
    """Guesses what a draft model will say; fulfils `arms.Free`.

    `begin` tells it the committed context, `drew` each token drafted after it; `outlook` and
    `draft` go on from there, whatever context they are given.
    """

    name = "suffix"
    buckets = SuffixDrafter.buckets

    def __init__(self, is_eog: Callable[[int], bool], n_on_trial: int = 0) -> None:
        """`n_on_trial`: most tokens at the end of a context that are on trial as well, where a
        draft model further up drafted them."""
        self._is_eog = is_eog
        self._n_on_trial = n_on_trial
        self._automaton = Lookup()
        self._indexed = np.empty(0, np.int32)
        self._place: Place = self._automaton.place
        self._heard: list[tuple[int, bool]] = []

    def forget(self) -> None:
        """What was heard and not told: another request begins."""
        self._heard.clear()

    def begin(self, context: Tokens) -> None:
        """A draft begins after this context."""
        n, end = len(self._indexed), len(context) - self._n_on_trial
        if n == 0 or not np.array_equal(context[:n], self._indexed):
            self._automaton, n = Lookup(), 0
        if end > n or n == 0:
            self._automaton.extend(context[n : max(n, end)].tolist())
            # A copy, as the caller's array may be a view of what grows on.
            self._indexed = context[: max(n, end)].copy()
        place = self._automaton.place
        for token in context[len(self._indexed) :].tolist():
            place = self._automaton.after(place, token)
        self._place = place

    def drew(self, token: int, *, is_useful: bool) -> None:
        """The draft went on with `token`; `is_useful`: and was to go on behind it."""
        for proposed, length, agreement in self._automaton.from_place(self._place):
            self._heard.append((bucket_of(length, agreement), is_useful and proposed == token))
            break
        self._place = self._automaton.after(self._place, token)

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        """The buckets of the tokens that would be guessed; see `arms.Free`."""
        for bucket, is_hit in self._heard:
            heard(bucket, is_hit)
        self._heard.clear()
        return self._buckets()

    def _buckets(self) -> Iterator[int]:
        for token, length, agreement in self._automaton.from_place(self._place):
            yield bucket_of(length, agreement)
            if self._is_eog(token):
                return

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens of what followed the last time."""
        said = [token for token, _, _ in islice(self._automaton.from_place(self._place), k)]
        return Draft(ended(said, self._is_eog))
