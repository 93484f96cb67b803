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
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, token: int, *, special: bool = False) -> str:
        """The characters that `token` completes; `special` shows a control token's own text."""
        return self._decoder.decode(self._vocab.piece(token, special=special))

    def flush(self) -> str:
        """The end: a character that never became whole is U+FFFD."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text

    @property
    def is_whole(self) -> bool:
        """No character is begun and unfinished."""
        return not self._decoder.getstate()[0]
