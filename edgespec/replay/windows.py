"""Lookahead's window beside a recorded answer: real passes, of which only the counts are kept.

For each shape the window is run along the answer step by step, as lookahead decoding would: a step
goes on behind what its ways had right. Between two steps a position counts what was left of the
step before.
"""

from collections.abc import Callable, Sequence

import numpy as np

from edgespec.core import Draft, Sampling, Session, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.lookahead import SHAPES, LookaheadDrafter, Shape
from edgespec.drafters.ways import n_common
from edgespec.sampling.sampler import RequestSampler


def windows(
    target: Session, prompt: Tokens, answer: Sequence[int], is_eog: Callable[[int], bool]
) -> dict[int, tuple[int, ...]]:
    """By nodes of the shape: how many tokens the window's ways had right at each position."""
    return {shape.n_nodes: _along(target, shape, prompt, answer, is_eog) for shape in SHAPES}


def _along(
    target: Session,
    shape: Shape,
    prompt: Tokens,
    answer: Sequence[int],
    is_eog: Callable[[int], bool],
) -> tuple[int, ...]:
    inputs = DrafterInputs(target.n_vocab, is_eog, max_branches=shape.n_branches)
    drafter = LookaheadDrafter(inputs, shape)
    sampler = RequestSampler(Sampling(), target.n_vocab)
    whole = np.array([*prompt, *answer], np.int32)
    right: list[int] = []
    while len(right) < len(answer):
        context = whole[: len(prompt) + len(right)]
        draft = drafter.draft(context, shape.n_nodes, sampler)
        tokens = np.append(context, np.array(draft.tokens, np.int32))
        logits = target.forward(tokens, n_logits=len(draft) + 1, branches=draft.branches)
        n = min(n_right(draft, len(context), answer[len(right) :]), len(answer) - len(right) - 1)
        drafter.learn(whole[: len(context) + n + 1], logits)
        right.extend(range(n, -1, -1))
    return tuple(right)


def n_right(draft: Draft, n_context: int, answer: Sequence[int]) -> int:
    """Tokens of the longest way through the draft that the answer goes."""
    ways = (draft.along(way, n_context) for way in (None, *range(len(draft.branches))))
    return max(n_common(way, answer) for way in ways)
