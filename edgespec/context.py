"""The committed tokens of one request: append-only, with room for the draft that follows."""

from collections.abc import Callable, Sequence

import numpy as np

from edgespec.core import Tokens
from edgespec.events import Source


class Context:
    """Prompt and answer so far. `commit` is the only writer; no token is ever taken back."""

    def __init__(self, prompt: Tokens, capacity: int) -> None:
        assert 0 < len(prompt) <= capacity, f"{len(prompt)} prompt tokens, capacity {capacity}"
        self._buffer = np.empty(capacity + 1, np.int32)
        self._buffer[: len(prompt)] = prompt
        self._shown = self._buffer.view()
        self._shown.flags.writeable = False  # and so are its slices
        self._n = len(prompt)
        self.is_ended = False
        """The model, or a stop string, ended the answer."""

    def __len__(self) -> int:
        return self._n

    @property
    def tokens(self) -> Tokens:
        """All committed tokens, read-only; a view that stays true when more are committed."""
        return self._shown[: self._n]

    def followed_by(self, draft: Sequence[int]) -> Tokens:
        """The committed tokens and a draft, read-only, valid until the next call or commit."""
        end = self._n + len(draft)
        if draft:
            self._buffer[self._n : end] = draft
        return self._shown[:end]

    def commit(
        self,
        tokens: Sequence[int],
        sources: Sequence[Source],
        ends: Callable[[int, Source], bool],
    ) -> tuple[int, ...]:
        """Append `tokens` up to the first that `ends` the answer; gives what was appended."""
        n = 0
        for token, source in zip(tokens, sources, strict=True):
            self._buffer[self._n] = token
            self._n += 1
            n += 1
            if ends(token, source):
                self.is_ended = True
                break
        return tuple(tokens[:n])
