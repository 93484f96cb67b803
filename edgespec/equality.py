"""Whether two greedy answers are equal, and whether their first difference is a near-tie.

Kernels for one row and for many rows round differently, so the logits of a verified draft can
differ from plain decoding's in the last bits. Where the target's two best tokens are closer than
that, greedy text may flip. How large the difference is gets measured here, on the very text.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgespec.core import Row, Session, Tokens

_WIDTHS = (4, 8, 16, 32)
"""Rows of the passes that are compared with one-row passes; kernels differ between them."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first token at which an answer leaves plain decoding's."""

    at: int
    """Answer tokens before it, which are equal."""
    plain: int | None
    """Plain decoding's token; None if its answer had ended."""
    other: int | None
    gap: float
    """How far the logits of the two tokens are apart, decoded one row at a time."""
    deviation: float
    """Largest difference of one of the two logits between a pass over one row and one over many,
    on the text before this token."""
    are_best: bool = True
    """No third token's logit is above one of the two, decoded one row at a time."""

    @property
    def is_near_tie(self) -> bool:
        """Rounding alone explains the difference."""
        return self.are_best and self.gap <= self.deviation


def first_difference(plain: Sequence[int], other: Sequence[int]) -> int | None:
    """Index of the first token that differs or is missing; None if the answers are equal."""
    if tuple(plain) == tuple(other):
        return None
    pairs = enumerate(zip(plain, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(plain), len(other)))


def explained(
    session: Session, prompt: Tokens, plain: Sequence[int], other: Sequence[int]
) -> Difference | None:
    """The first difference of two greedy answers to `prompt`, measured; None: they are equal.

    Leaves `session` with another text resident.
    """
    at = first_difference(plain, other)
    if at is None:
        return None
    if at == min(len(plain), len(other)):
        mine, theirs = (answer[at] if at < len(answer) else None for answer in (plain, other))
        return Difference(at, mine, theirs, math.inf, 0.0)
    before = np.concatenate((prompt, np.array(plain[:at], np.int32)))
    two = [plain[at], other[at]]
    row, deviation = _compared(session, before, two)
    # Re-read, even plain decoding may be on the other side of a tie.
    gap = abs(float(row[two[0]] - row[two[1]]))
    are_best = bool(np.delete(row, two).max(initial=-np.inf) <= row[two].min())
    return Difference(at, plain[at], other[at], gap, deviation, are_best)


def _compared(session: Session, tokens: Tokens, ids: Sequence[int]) -> tuple[Row, float]:
    """The row after `tokens` from a one-row pass, and how far the logits of `ids` are at most from
    those of many-row passes."""
    most = min(session.max_logits, len(tokens) - 1)
    widths = [width for width in _WIDTHS if width < most] + [most]
    start = len(tokens) - most
    session.forward(tokens[:start], n_logits=0)
    singles = [
        session.forward(tokens[: start + i], n_logits=1)[0].copy() for i in range(1, most + 1)
    ]
    deviation = 0.0
    for width in widths:
        session.forward(tokens[: len(tokens) - width], n_logits=0)
        many = session.forward(tokens, n_logits=width)
        for i, single in enumerate(singles[-width:]):
            deviation = max(deviation, float(np.abs((many[i] - single)[list(ids)]).max()))
    return singles[-1], deviation
