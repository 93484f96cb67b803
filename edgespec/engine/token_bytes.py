"""What tokens' texts begin with, for a whole vocabulary at once.

A grammar asks for it before it walks 150,000 texts. Knows no grammar.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgespec.core import Tokens
from edgespec.engine.binding import lib

NO_TEXT = 256
"""Stands for the first byte of a token without text: a control token."""

_BYTE_TOKENS_UP_TO = 2048
"""Vocabularies list their single bytes first, some after a thousand reserved tokens."""


@dataclass(frozen=True, slots=True)
class TokenBytes:
    """Bytes of all tokens of a vocabulary."""

    first: npt.NDArray[np.int16]
    """[n_vocab]: the first byte of each text, or `NO_TEXT`."""
    single: Tokens
    """[256]: the token whose text is just this byte, -1 where none was found."""


def token_bytes(vocab: Any) -> TokenBytes:
    """Read the native vocabulary: about 20 ms for 150,000 tokens."""
    n_vocab = lib().llama_vocab_n_tokens(vocab)
    single = np.full(256, -1, np.int32)
    for token in reversed(range(min(n_vocab, _BYTE_TOKENS_UP_TO))):
        text = _text_of(vocab, token)
        if len(text) == 1:
            single[text[0]] = token
    first = _first_of_all(vocab, n_vocab, single)
    if first is None:
        texts = (_text_of(vocab, token) for token in range(n_vocab))
        first = np.fromiter((text[0] if text else NO_TEXT for text in texts), np.int16, n_vocab)
    return TokenBytes(first, single)


def _first_of_all(vocab: Any, n_vocab: int, single: Tokens) -> npt.NDArray[np.int16] | None:
    """First bytes by one native call on all tokens with a separator in between.

    None where no byte separates, or where the vocabulary changes spaces between tokens, or may do
    so: 150,000 native calls then take half a second.
    """
    space, dot = single[ord(" ")], single[ord(".")]
    if min(space, dot) < 0:  # llama.cpp ends the process on a token that there is not
        return None
    for byte in _SEPARATORS:
        separator = single[byte]
        if separator < 0:
            continue
        mark = bytes([byte])
        if _joined(vocab, np.array([separator, space, dot, separator])) != mark + b" ." + mark:
            return None
        tokens = np.full(2 * n_vocab + 1, separator, np.int32)
        tokens[1::2] = np.arange(n_vocab)
        joined = np.frombuffer(_joined(vocab, tokens), np.uint8)
        marks = np.flatnonzero(joined == byte)
        if len(marks) == n_vocab + 2:  # one before and after each, and the separator's own text
            starts = np.delete(marks, separator + 1)[:n_vocab] + 1
            first = joined[starts].astype(np.int16)
            first[first == byte] = NO_TEXT
            first[separator] = byte
            return first
    return None


_SEPARATORS = (0xFF, 0xFE, 0xC0, 0xC1, *range(1, 9), *range(0x0E, 0x20))
"""Bytes that hardly ever occur in a longer text, the impossible ones of UTF-8 first."""


def _joined(vocab: Any, tokens: npt.NDArray[np.int32]) -> bytes:
    tokens = np.ascontiguousarray(tokens, np.int32)
    pointer = tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
    size = 16 * len(tokens)
    while True:
        text = ctypes.create_string_buffer(size)
        n = lib().llama_detokenize(vocab, pointer, len(tokens), text, size, False, False)
        if n >= 0:
            return text.raw[:n]
        size = -n  # what llama.cpp needs


def _text_of(vocab: Any, token: int) -> bytes:
    size = 64
    while True:
        text = ctypes.create_string_buffer(size)
        n = lib().llama_token_to_piece(vocab, token, text, size, 0, False)
        if n >= 0:
            return text.raw[:n]
        size = -n
