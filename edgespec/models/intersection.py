"""What two vocabularies have in common: the tokens that a draft of another family can propose.

Tokens of equal bytes mean the same in both; control tokens are paired by their text, and the ends
of a text and of a turn by their role. Decided from headers, before loading.
Source of pieces: llama.cpp src/llama-vocab.cpp, llama_vocab::impl::token_to_piece.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from edgespec.gguf.vocab import TokenList
from edgespec.models.pairing import byte_letters

LEAST_COVERAGE = 0.9
"""Share of a text's tokens that must have a counterpart: below, drafts end too soon to pay."""
KINDS: Final = ("gpt2", "llama")
"""Tokenizers whose pieces are known here."""
_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 2, 3, 4, 5, 6
_BYTE_TEXT: Final = re.compile(rb"<0x([0-9A-F]{2})>")

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Tokens that mean the same, pairwise."""

    target_ids: Ids
    """[m], ascending."""
    draft_ids: Ids
    """[m]"""

    @property
    def size(self) -> int:
        """Pairs."""
        return len(self.target_ids)

    def coverage(self, tokens: Sequence[int]) -> float:
        """Share of a text's target tokens that have a counterpart."""
        return float(np.isin(tokens, self.target_ids).mean()) if len(tokens) else 0.0


def shared_pieces(target: TokenList, draft: TokenList) -> Shared:
    """The pairs; 0.3 s for 151,936 and 49,152 tokens. Both kinds must be among `KINDS`.

    Raises: `ModelFileError` when a file changed since its header was read.
    """
    mine, theirs = _Meanings(target), _Meanings(draft)
    pairs: dict[int, int] = {}
    for known, others in ((mine.pieces, theirs.pieces), (mine.controls, theirs.controls)):
        pairs |= {known[text]: others[text] for text in known.keys() & others.keys()}
    for role in ("eos", "eot"):
        mine_end, theirs_end = target.special(role), draft.special(role, draft.special("eos"))
        if mine_end is not None and theirs_end is not None:
            pairs.setdefault(mine_end, theirs_end)
    ids = sorted(pairs)
    return Shared(np.array(ids, np.int32), np.array([pairs[token] for token in ids], np.int32))


class _Meanings:
    """A vocabulary from the other side: bytes, or a control token's text, to the first id."""

    def __init__(self, tokens: TokenList) -> None:
        self.pieces: dict[bytes, int] = {}
        self.controls: dict[bytes, int] = {}
        texts, types = tokens.texts(), tokens.types()
        single: dict[bytes, int] = {}
        spelled = _byte_pairs if tokens.kind == "gpt2" else _sentence_pieces
        for token, text in enumerate(texts):
            kind = types[token] if types else 0
            if kind in (_UNKNOWN, _UNUSED) or not text:
                continue
            if kind == _CONTROL:
                self.controls.setdefault(text, token)
            elif kind == _USER_DEFINED:
                self.pieces.setdefault(text, token)
            elif kind == _BYTE and (byte := _BYTE_TEXT.fullmatch(text)):
                single[bytes.fromhex(byte[1].decode())] = token
            elif piece := spelled(text):
                self.pieces.setdefault(piece, token)
        self.pieces = single | self.pieces  # a text is cut into bytes only where no piece fits


def _sentence_pieces(text: bytes) -> bytes:
    return text.replace(b"\xe2\x96\x81", b" ")


def _byte_pairs(text: bytes) -> bytes:
    """The bytes behind a byte-pair text; empty where it is none."""
    if text.isascii():
        return text
    try:
        return text.decode().translate(_latin()).encode("latin-1")
    except UnicodeError:
        return b""


@cache
def _latin() -> dict[int, int]:
    """GPT-2's letters to the code points of their bytes; other letters end behind latin-1."""
    known = {ord(letter): byte[0] for letter, byte in byte_letters().items()}
    strange = {point: 0x1000 for point in range(256) if point not in known}
    return strange | known
