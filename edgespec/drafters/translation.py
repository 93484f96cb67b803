"""Between a draft model's vocabulary and its target's, where they are not the same.

Tokens of equal bytes mean the same in both. A draft model of another family may draft through
these alone: its distribution is restricted to them and renormalised, which is a law over target
tokens like any other, so rejection sampling stays exact (TLI: Timor et al. 2025, arXiv
2502.05202). What it reads is the text, in its own tokens. Knows vocabularies; no models.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgespec.core import Row, Tokens, Vocab

LEAST_COVERAGE = 0.9
"""Share of the text's tokens that must have a counterpart: below, drafts end too soon to pay."""
_TAIL = 32
"""Tokens at the end of a context that are tokenised anew with every draft."""


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Tokens of equal bytes, pairwise."""

    target_ids: Tokens
    """[m], ascending."""
    draft_ids: Tokens
    """[m]"""
    n_target: int

    @property
    def size(self) -> int:
        """Pairs."""
        return len(self.target_ids)


def shared_pieces(target: Vocab, draft: Vocab) -> Shared:
    """Pairs of tokens whose bytes are equal; an end of generation pairs with one by its role."""
    by_bytes: dict[bytes, int] = {}
    for token in range(target.n_tokens):
        if piece := target.piece(token):
            by_bytes.setdefault(piece, token)
    pairs: dict[int, int] = {}
    for token in range(draft.n_tokens):
        piece = draft.piece(token)
        if piece and (same := by_bytes.get(piece)) is not None:
            pairs.setdefault(same, token)
    ends = (_first_end(target), _first_end(draft))
    if None not in ends:
        pairs[ends[0]] = ends[1]  # type: ignore[index, assignment]
    ids = sorted(pairs)
    return Shared(
        np.array(ids, np.int32),
        np.array([pairs[token] for token in ids], np.int32),
        target.n_tokens,
    )


def _first_end(vocab: Vocab) -> int | None:
    """The end of a turn: the last one is as a rule the one that chat templates use."""
    ends = [token for token in range(vocab.n_tokens) if vocab.is_eog(token)]
    return ends[-1] if ends else None


def coverage(shared: Shared, tokens: Tokens) -> float:
    """Share of `tokens` (a text, in the target's vocabulary) that have a counterpart."""
    return float(np.isin(tokens, shared.target_ids).mean()) if len(tokens) else 0.0


class Translation:
    """A draft model's view of the target's tokens. One conversation at a time."""

    def __init__(self, target: Vocab, draft: Vocab, shared: Shared) -> None:
        self._target, self._draft = target, draft
        self._shared = shared
        self._settled: Tokens = np.empty(0, np.int32)
        """The beginning of the context that is tokenised for good,"""
        self._read: list[int] = []
        """as the draft model reads it."""

    @cached_property
    def _draft_of(self) -> dict[int, int]:
        pairs = zip(self._shared.target_ids.tolist(), self._shared.draft_ids.tolist(), strict=True)
        return dict(pairs)

    def context(self, context: Tokens) -> Tokens | None:
        """The text of `context` in the draft model's tokens; None while a character is incomplete.

        Only the end is tokenised anew, so most of what was read stays as it was.
        """
        n = len(self._settled)
        if n > len(context) or not np.array_equal(context[:n], self._settled):
            self._settled, self._read, n = context[:0], [], 0
        text = self._text(context[n:])
        if text is None:
            return None
        if len(context) - n > 2 * _TAIL:
            middle = len(context) - _TAIL
            settled, rest = self._text(context[n:middle]), self._text(context[middle:])
            if settled is not None and rest is not None:  # else a character lies across
                self._read += self._draft.tokenize(settled, parse_special=True, add_special=n == 0)
                self._settled, text, n = context[:middle].copy(), rest, middle
        tail = self._draft.tokenize(text, parse_special=True, add_special=n == 0)
        return np.array([*self._read, *tail], np.int32)

    def row(self, row: Row) -> Row:
        """The draft model's logits [its vocabulary] in the target's; what is not shared: never."""
        translated = np.full(self._shared.n_target, -np.inf, np.float32)
        translated[self._shared.target_ids] = row[self._shared.draft_ids]
        return translated

    def token(self, token: int) -> int:
        """The draft model's token for one that it drafted itself."""
        return self._draft_of[token]

    def _text(self, tokens: Tokens) -> str | None:
        raw = b"".join(self._target.piece(int(token), special=True) for token in tokens)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
