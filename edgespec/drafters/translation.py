"""Between a draft model's vocabulary and its target's.

Mostly they are the same but for padding. A draft model of another family may draft through the
tokens that mean the same in both: its distribution is restricted to them and renormalised, which
is a law over target tokens like any other, so rejection sampling stays exact (TLI: Timor et al.
2025, arXiv 2502.05202). What it reads is the text, in its own tokens. Knows vocabularies; no
models.
"""

import codecs
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from edgespec.core import Row, Tokens, Vocab
from edgespec.models.intersection import Shared

_BLOCK = 32
"""Target tokens of a piece of text that is tokenised once."""
_LOOK = 16
"""How far behind that a piece may end, to end before a word."""
_TAIL = 16
"""Least tokens at the end that are tokenised anew with every draft: with what follows, they may
be cut differently."""
_EMPTY: Tokens = np.empty(0, np.int32)


class Translation(Protocol):
    """A draft model's view of the target's tokens."""

    def context(self, context: Tokens) -> Tokens:
        """The target's text in the draft model's tokens, but for an incomplete character."""
        ...

    def is_whole(self, context: Tokens) -> bool:
        """Whether the text ends with a whole character: else nothing can be drafted after it."""
        ...

    def row(self, row: Row) -> Row:
        """The draft model's logits in the target's vocabulary; what it cannot say: never."""
        ...

    def token(self, token: int) -> int | None:
        """The draft model's own token for one of the target's; None where it has none."""
        ...


class SameVocab:
    """Equal ids mean the same; either list may be longer by padding."""

    def __init__(self, n_draft: int, n_target: int) -> None:
        self._n_draft, self._n_target = n_draft, n_target

    def context(self, context: Tokens) -> Tokens:
        """A padding id that the draft model lacks becomes another."""
        return (
            context if self._n_draft >= self._n_target else np.minimum(context, self._n_draft - 1)
        )

    def is_whole(self, context: Tokens) -> bool:
        """Tokens are read, not characters."""
        return True

    def row(self, row: Row) -> Row:
        """In the target's width."""
        return fitted(row, self._n_target)

    def token(self, token: int) -> int | None:
        """Itself, but for a padding id that the draft model lacks."""
        return token if token < self._n_draft else None


def fitted(row: Row, n_vocab: int) -> Row:
    """`row` in the target's width: ids that the target lacks cut off, ids that it has beyond the
    draft model's impossible."""
    if len(row) >= n_vocab:
        return row[:n_vocab]
    padded = np.full(n_vocab, -np.inf, np.float32)
    padded[: len(row)] = row
    return padded


class _Block(NamedTuple):
    """A piece of the context."""

    end: int
    """Target tokens up to its end,"""
    need: int
    """and up to where it depends on them."""
    read: Tokens
    """As the draft model reads it."""


class SharedVocab:
    """Through tokens of equal meaning. What is read follows from the context alone, whatever was
    read before: the same request gives the same drafts. One conversation at a time."""

    def __init__(self, target: Vocab, draft: Vocab, shared: Shared, n_target: int) -> None:
        """`n_target`: width of the target's logits."""
        self._target, self._draft = target, draft
        self._shared = shared
        self._row = np.full(n_target, -np.inf, np.float32)
        self._blocks: list[_Block] = []
        """The beginning of the context, tokenised for good."""
        self._read: Tokens = _EMPTY
        """All of them together."""
        self._seen: Tokens = _EMPTY
        """What they follow from."""
        self._asked, self._answer = _EMPTY, _EMPTY

    @cached_property
    def _draft_of(self) -> dict[int, int]:
        pairs = zip(self._shared.target_ids.tolist(), self._shared.draft_ids.tolist(), strict=True)
        return dict(pairs)

    @cached_property
    def _adds_space(self) -> bool:
        """SentencePiece's habit: every text begins with a space."""
        tokens = self._draft.tokenize("a", parse_special=False)
        return b"".join(map(self._draft.piece, tokens)).startswith(b" ")

    def context(self, context: Tokens) -> Tokens:
        """The text in the draft model's tokens; most of it was tokenised before."""
        if not np.array_equal(context, self._asked):
            begun = self._settle(context)
            self._answer = np.concatenate((self._read, self._tokenised(context, begun, None)))
            self._asked = context.copy()  # the caller's array may be a view
        return self._answer

    def is_whole(self, context: Tokens) -> bool:
        """Whether no character is begun and not ended; a text that is no UTF-8 counts as whole."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        decoder.decode(self._bytes(context[-4:]))
        return not decoder.getstate()[0]

    def row(self, row: Row) -> Row:
        """The logits of shared tokens; all others are impossible. Read-only, until the next."""
        self._row[self._shared.target_ids] = row[self._shared.draft_ids]
        shown = self._row.view()
        shown.flags.writeable = False
        return shown

    def token(self, token: int) -> int | None:
        """The counterpart."""
        return self._draft_of.get(token)

    def _settle(self, context: Tokens) -> int:
        """Tokenise for good what is far enough from the end; forget what the context no longer
        begins with. Returns: how many target tokens are settled."""
        n_common = _common(self._seen, context)
        n_before = len(self._blocks)
        while self._blocks and self._blocks[-1].need > n_common:
            self._blocks.pop()
        n_kept = len(self._blocks)
        begun = self._blocks[-1].end if self._blocks else 0
        while len(context) >= (need := begun + _BLOCK + _LOOK + _TAIL):
            end = self._border(context, begun + _BLOCK)
            self._blocks.append(_Block(end, need, self._tokenised(context, begun, end)))
            begun = end
        if n_kept != n_before or len(self._blocks) != n_kept:
            n_seen = self._blocks[-1].need if self._blocks else 0
            self._seen = context[:n_seen].copy()
            self._read = np.concatenate((_EMPTY, *(block.read for block in self._blocks)))
        return begun

    def _border(self, context: Tokens, mark: int) -> int:
        """Where a block ends: before a word if one begins soon, else not within a character."""
        fallback = mark
        for at in range(mark + _LOOK - 1, mark - 1, -1):
            first = self._target.piece(int(context[at]), special=True)[:1]
            if first and not 0x80 <= first[0] < 0xC0:
                fallback = at
        for at in range(mark, mark + _LOOK):
            if self._target.piece(int(context[at]), special=True)[:1] in (b" ", b"\n"):
                return at
        return fallback

    def _tokenised(self, context: Tokens, begun: int, end: int | None) -> Tokens:
        """A part of the context; as the beginning of a text, if it is that."""
        target, draft = self._target, self._draft
        part = context[begun:end]
        if begun:
            return np.array(self._continued(self._text(part)), np.int32)
        if len(part) and int(part[0]) == target.bos:
            part = part[1:]
        tokens = draft.tokenize(self._text(part), parse_special=True)
        if draft.add_bos and (not tokens or tokens[0] != draft.bos):
            tokens = [draft.bos, *tokens]
        return np.array(tokens or [max(draft.bos, 0)], np.int32)

    def _continued(self, text: str) -> list[int]:
        """A text that others go before: without the space that a beginning would get."""
        if self._adds_space:
            tokens = self._draft.tokenize("\n" + text, parse_special=True)
            raw = b""
            for i, token in enumerate(tokens):
                raw += self._draft.piece(token)
                if raw in (b"\n", b" \n"):
                    return tokens[i + 1 :]
        return self._draft.tokenize(text, parse_special=True)

    def _bytes(self, tokens: Tokens) -> bytes:
        return b"".join(self._target.piece(int(token), special=True) for token in tokens)

    def _text(self, tokens: Tokens) -> str:
        """Without the beginning of a character at the end."""
        return codecs.getincrementaldecoder("utf-8")("replace").decode(self._bytes(tokens))


def _common(a: Tokens, b: Tokens) -> int:
    """Length of the common beginning."""
    n = min(len(a), len(b))
    differing = np.flatnonzero(a[:n] != b[:n])
    return int(differing[0]) if len(differing) else n
