"""The decode loop at its smallest: a draft, a verdict, again; no cache and no limits."""

from collections.abc import Callable, Sequence

import numpy as np

from edgespec.core import Dist, Draft, Drafter, Row, Rule, Tokens
from edgespec.sampling import RequestSampler
from edgespec.verify import verify

RowOf = Callable[[Tokens], Row]


def generate(
    row_of: RowOf,
    sampler: RequestSampler,
    prompt: Sequence[int],
    n_tokens: int,
    drafter: Drafter | None = None,
    *,
    k: int = 4,
    rule: Rule | None = None,
    stale: bool = False,
) -> list[int]:
    """`n_tokens` after `prompt`; plain decoding without a drafter.

    `stale` leaves the draft out of the history that the rows are shaped with: a mistake.
    """
    text = [int(token) for token in prompt]
    end = len(text) + n_tokens
    while len(text) < end:
        context = np.array(text, np.int32)
        length = min(k, end - len(text) - 1) if drafter else 0
        draft = drafter.draft(context, length, sampler) if drafter else Draft()
        tokens = draft.tokens

        def p(i: int, context: Tokens = context, tokens: tuple[int, ...] = tokens) -> Dist:
            history = np.concatenate([context, np.array(tokens[:i], np.int32)])
            return sampler.dist(row_of(history), context if stale else history)

        text += verify(draft, p, sampler, len(text), rule=rule).tokens
    return text[len(prompt) :]
