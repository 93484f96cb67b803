"""Lookahead's window beside a recorded answer: real passes, of which only the counts are kept.

For each shape the window is run along the answer step by step, as lookahead decoding would: a step
goes on behind what its ways had right. Between two steps a position counts what was left of the
step before.
"""

from collections.abc import Callable, Sequence

import numpy as np

from edgespec.core import Sampling, Session, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.lookahead import SHAPES, LookaheadDrafter, Shape
from edgespec.drafters.ways import best_way
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
        _, n = best_way(draft, len(context), answer[len(right) :])
        n = min(n, len(answer) - len(right) - 1)
        drafter.learn(whole[: len(context) + n + 1], logits)
        right.extend(range(n, -1, -1))
    return tuple(right)
