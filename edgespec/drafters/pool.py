"""Lookahead's pool: what was once said after a token, in the text or ahead of it.

Grams by their first token, newest first. Owns no window and knows no costs.
"""

from collections import deque
from collections.abc import Sequence


class Pool:
    """At most so many grams for each token that they begin with."""

    def __init__(self, n_grams: int) -> None:
        self._n_grams = n_grams
        self._known: dict[int, deque[tuple[int, ...]]] = {}

    def remember(self, gram: Sequence[int]) -> None:
        """The newest; each is held once."""
        rest = tuple(gram[1:])
        known = self._known.get(gram[0])
        if known is None:
            known = self._known[gram[0]] = deque(maxlen=self._n_grams)
        elif rest in known:
            known.remove(rest)
        known.appendleft(rest)

    def after(self, token: int, n_grams: int, most: int) -> list[tuple[int, ...]]:
        """Up to `n_grams` ways on, of up to `most` tokens, each once."""
        known = self._known.get(token, ())
        return list(dict.fromkeys(rest[:most] for rest in known))[:n_grams]
