"""A grammar that waits for the end of the reasoning that the prompt opened.

Held to it from the first token, such a model would say its whole answer as reasoning. Owns when the
block is closed; knows no grammar's rules and no template.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from edgespec.core import Constraint, Mask, Tokens, Vocab
from edgespec.text.reasoning import CLOSES
from edgespec.text.stops import first_of, tail_start


@dataclass(frozen=True, slots=True, eq=False)
class AfterReasoning:
    """Implements `core.Constraint`: anything but an end of generation, then what `grammar` allows.

    White space that comes with the closing marker is no part of the answer.
    """

    vocab: Vocab
    is_end: Mask
    """[n_vocab]: the ends of generation."""
    first: npt.NDArray[np.int16]
    """[n_vocab]: the first byte of each token's text."""
    grammar: Constraint
    """As it is before the answer's first token."""
    begun: str = ""
    """What may be the beginning of a closing marker, a character for each byte."""

    def allowed(self, ids: Tokens) -> Mask:
        """Which of `ids` may come next, [len(ids)]."""
        mask: Mask = ~self.is_end[ids]
        for i in np.flatnonzero(np.isin(self.first[ids], self._going_on())):
            if (self._after(ids[i]) or "").strip():
                mask[i] = False  # of the answer that it begins the grammar would never hear
        return mask

    def advanced(self, token: int) -> Constraint:
        """The state after `token`."""
        if self._after(token) is not None:
            return self.grammar
        said = self._said(token)
        return replace(self, begun=said[tail_start(said, CLOSES) :])

    def _going_on(self) -> list[int]:
        """The bytes that go on with a marker that has begun."""
        tails = [self.begun[i:] for i in range(len(self.begun))]
        return [ord(m[len(t)]) for t in tails for m in CLOSES if m.startswith(t)]

    def _said(self, token: int | np.int32) -> str:
        return self.begun + self.vocab.piece(int(token), special=True).decode("latin-1")

    def _after(self, token: int | np.int32) -> str | None:
        """What the token says behind the marker that it completes; None: it completes none."""
        said = self._said(token)
        found = first_of(said, CLOSES)
        return None if found is None else said[found[0] + len(found[1]) :]
