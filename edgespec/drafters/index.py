"""Retrieval from the user's own files: what followed the last time somebody wrote the same.

Where the conversation holds no copy, an index may: an edit of a file that is not in the prompt, a
phrase of last week's letter. Costs some dozens of microseconds. Source: REST (He et al. 2023,
arXiv 2311.08252); continuations are voted for at each depth.
"""

from collections.abc import Iterator

import numpy as np

from edgespec.core import Draft, Sampler, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.arms import Bucket, Heard
from edgespec.drafters.suffix import ended
from edgespec.index.retrieve import Retrieved, Said

_LENGTHS = ("3", "4-7", "8-15", "16 and more")
_SHORTEST = (3, 4, 8, 16)
_AGREEMENTS = ("stands once", "always so", "mostly so", "or other")
_PRIORS = (
    (0.20, 0.45, 0.75, 0.93),
    (0.45, 0.70, 0.88, 0.95),
    (0.35, 0.50, 0.60, 0.65),
    (0.15, 0.20, 0.25, 0.30),
)
"""By agreement, then length: as in the conversation itself, but for what stands elsewhere."""


class IndexDrafter:
    """Continues the longest suffix of the context that stands in the index, by majority.

    Deterministic, a function of `context` and the shards that are open. These are read without
    their checksums: a damaged one may say what is no token, and a draft ends there.
    """

    name = "index"
    needs_draft_model = False
    needs_index = True
    buckets = tuple(
        Bucket(f"match {length}, {agreement}", prior)
        for agreement, priors in zip(_AGREEMENTS, _PRIORS, strict=True)
        for length, prior in zip(_LENGTHS, priors, strict=True)
    )

    def __init__(self, inputs: DrafterInputs) -> None:
        assert inputs.retriever is not None, "the index drafter needs an index"
        self._retriever = inputs.retriever
        self._is_eog = inputs.is_eog
        self._n_vocab = inputs.n_vocab
        self._context: Tokens = np.empty(0, np.int32)
        self._found: Retrieved | None = None
        """For `_context`."""

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens, `match` telling from how long a match."""
        copied = self.copied(context, k)
        return Draft(copied, match=self._at(context, _unheard).match if k else 0)

    def copied(self, context: Tokens, k: int) -> tuple[int, ...]:
        """The tokens of `draft`."""
        tokens = list(self._at(context, _unheard).tokens(k))
        if tokens and max(tokens) >= self._n_vocab:
            del tokens[next(i for i, token in enumerate(tokens) if token >= self._n_vocab) :]
        return ended(tokens, self._is_eog)

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        """The buckets of the tokens that would be drafted; see `arms.Free`."""
        found = self._at(context, heard)
        for i, said in enumerate(found):
            if said.token >= self._n_vocab:
                return
            yield bucket_of(found.match + i, said)
            if self._is_eog(said.token):
                return

    def _at(self, context: Tokens, heard: Heard) -> Retrieved:
        n = len(self._context)
        goes_on = np.array_equal(context[:n], self._context)
        if self._found is None or not goes_on or len(context) > n:
            if self._found is not None and goes_on:
                _judge(self._found, context[n:].tolist(), heard)
            self._found = self._retriever.retrieve(context)
            self._context = context.copy()  # the caller's array may be a view of what grows on
        return self._found


def _judge(found: Retrieved, committed: list[int], heard: Heard) -> None:
    """Which of the proposed tokens came true, up to the first that did not."""
    for i, (said, token) in enumerate(zip(found, committed, strict=False)):
        heard(bucket_of(found.match + i, said), said.token == token)
        if said.token != token:
            return


def bucket_of(match: int, said: Said) -> int:
    """The number of the bucket of a token that follows a match of so many tokens."""
    length = max(i for i, shortest in enumerate(_SHORTEST) if match >= shortest)
    if said.n_for == said.n_of:
        agreement = 0 if said.n_of == 1 else 1
    else:
        agreement = 2 if 3 * said.n_for >= 2 * said.n_of else 3
    return agreement * len(_SHORTEST) + length


def _unheard(bucket: int, is_hit: bool) -> None:
    """Nobody learns."""
