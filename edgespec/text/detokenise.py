"""Tokens to text, one token at a time.

Owns: where a character ends. Knows nothing of stop strings, reasoning or terminals. Text is
what the model said: a leading space stays.
"""

import codecs

from edgespec.core import Vocab


class Detokeniser:
    """Decodes a stream of tokens; never splits a character.

    All that `feed` and `flush` return, joined, is `b"".join(pieces).decode(errors="replace")`.
    """

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self._begun = b""
        """Bytes of a character that is not whole yet."""

    def feed(self, token: int, *, special: bool = False) -> str:
        """The characters that `token` completes; `special` shows a control token's own text."""
        read = self._begun + self._vocab.piece(token, special=special)
        text, n_decoded = codecs.utf_8_decode(read, "replace")
        self._begun = read[n_decoded:]
        return text

    def flush(self) -> str:
        """The end: a character that never became whole is U+FFFD."""
        begun, self._begun = self._begun, b""
        return begun.decode("utf-8", "replace")

    @property
    def is_whole(self) -> bool:
        """No character is begun and unfinished."""
        return not self._begun
