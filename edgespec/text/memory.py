"""The tokens in which a model said its answers, so that they are fed back as they were.

Tokenising an answer's text again may give other ids than the model generated, and the keys and
values that are resident would be lost from there on. Knows no templates.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from edgespec.core import Tokens, Vocab
from edgespec.text.detokenise import Detokeniser


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A text and the tokens that spell it, or its beginning."""

    text: str
    tokens: Tokens
    n_chars: Tokens
    """[m], ascending: `n_tokens[i]` tokens spell exactly the first `n_chars[i]` characters."""
    n_tokens: Tokens

    def spelling(self, text: str) -> tuple[Tokens, int]:
        """The most tokens that spell a beginning of `text`, and how many characters they spell."""
        differ = (i for i, (a, b) in enumerate(zip(text, self.text, strict=False)) if a != b)
        n_common = len(text) if text == self.text else next(differ, min(len(text), len(self.text)))
        at = bisect_right(self.n_chars, n_common) - 1
        if at < 0:
            return self.tokens[:0], 0
        return self.tokens[: self.n_tokens[at]], int(self.n_chars[at])


class AnswerMemory:
    """Remembers the latest answers of one model; at most `limit` tokens of them. Any thread.

    Answers are found by their text without the white space around it, which templates trim. Of
    two answers with one text the first stays: its tokens are resident the longest.
    """

    def __init__(self, vocab: Vocab, limit: int = 1 << 18) -> None:
        self._vocab = vocab
        self._limit = limit
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._n_tokens = 0
        self._lock = Lock()

    def remember(self, text: str, tokens: Sequence[int]) -> None:
        """Keep that the model said `text` as `tokens`, as far as they spell it."""
        key = text.strip()
        if not key:
            return
        answer = self._answer(text, tokens)
        with self._lock:
            if answer is None or key in self._answers:
                return
            self._answers[key] = answer
            self._n_tokens += len(answer.tokens)
            while self._n_tokens > self._limit:
                _, oldest = self._answers.popitem(last=False)
                self._n_tokens -= len(oldest.tokens)

    def find(self, text: str) -> Answer | None:
        """The answer whose text, but for white space around it, is `text`."""
        key = text.strip()
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def _answer(self, text: str, tokens: Sequence[int]) -> Answer | None:
        characters = Detokeniser(self._vocab)
        n_chars: list[int] = []
        n_tokens: list[int] = []
        n_spelled = 0
        for count, token in enumerate(tokens, 1):
            piece = characters.feed(token)
            if not text.startswith(piece, n_spelled):
                break
            n_spelled += len(piece)
            if piece and characters.is_whole:  # an end of generation spells nothing
                n_chars.append(n_spelled)
                n_tokens.append(count)
        if not n_tokens:
            return None
        as_array = (
            np.array(values, np.int32) for values in (tokens[: n_tokens[-1]], n_chars, n_tokens)
        )
        return Answer(text, *as_array)
