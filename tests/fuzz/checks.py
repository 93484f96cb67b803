"""What must hold of an answer and of the caches behind it; each gives what is wrong."""

import random
from collections.abc import Iterator, Sequence

import numpy as np

from edgespec.api.types import Options
from edgespec.events import Stats, Step
from tests import tinygguf
from tests.fuzz.plain import Said
from tests.fuzz.setups import Loaded

_ATOL = 0.08
"""A wrong cell moves a logit by tenths: their deviation is 3."""
_ATOL_PER_TOKEN = 1e-4
"""Flash attention adds up a single row's cells in 16 bits: after 3,000 tokens one by one, plain
decoding is 0.14 from a prompt read in chunks."""
_ANY = tinygguf.VOCAB.id_of("n")


def wrong_tokens(
    loaded: Loaded,
    prompt: Sequence[int],
    asked: Options,
    said: tuple[int, ...],
    expected: Said,
) -> str:
    """What is no plain decoding's, even with logits a little different."""
    pairs = enumerate(zip(said, expected.tokens, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(said), len(expected.tokens)))
    if at in (len(said), len(expected.tokens)):
        return f"{len(said)} tokens instead of {len(expected.tokens)}"
    if loaded.plain.may_say(prompt, said[: at + 1], asked, is_drawn=True):
        return ""
    return f"token {at} is {said[at]} instead of {expected.tokens[at]}"


def impossible_token(
    loaded: Loaded,
    prompt: Sequence[int],
    asked: Options,
    said: tuple[int, ...],
    rng: random.Random,
) -> Iterator[str]:
    """Whether one of the tokens is one that the target cannot say there."""
    if said:
        at = rng.randrange(len(said))
        if not loaded.plain.may_say(prompt, said[: at + 1], asked, is_drawn=False):
            yield f"token {at}, {said[at]}, is impossible"


def wrong_counts(
    loaded: Loaded,
    asked: Options,
    prompt: Sequence[int],
    said: tuple[int, ...],
    stats: Stats,
    steps: Sequence[Step],
) -> Iterator[str]:
    """Limits and sums."""
    n, most = len(said), asked.max_tokens
    own = sum(len(step.tokens) > step.accepted for step in steps)
    is_right = {
        "max_tokens": most is None or n <= most,
        "n_ctx": len(prompt) + n <= loaded.target.n_ctx,
        "end": not any(loaded.vocab.is_eog(token) for token in said[:-1]),
        "generated": stats.generated_tokens == n,
        "accepted": stats.accepted + own == n,
        "passes": stats.passes == len(steps),
        "drafted": stats.drafted == sum(step.drafted for step in steps),
        "sum": stats.accepted + stats.discarded + stats.rejected == stats.drafted,
        "sources": all(len(step.sources) == len(step.tokens) for step in steps),
        "positions": sum(stats.accepted_at) == stats.accepted,
        "contexts": [step.context for step in steps]
        == [len(prompt) + sum(len(s.tokens) for s in steps[:i]) for i in range(len(steps))],
    }
    for name, holds in is_right.items():
        if not holds:
            yield f"{name} is wrong: {stats}"


def wrong_logprobs(
    loaded: Loaded,
    prompt: Sequence[int],
    said: tuple[int, ...],
    steps: Sequence[Step],
    rng: random.Random,
) -> Iterator[str]:
    """Those of one of the tokens, by a row of its own."""
    told = [one for step in steps for one in step.logprobs]
    if [one.token for one in told] != list(said):
        yield "logprobs of other tokens"
    elif said:
        at = rng.randrange(len(said))
        tokens = np.array([*prompt, *said[:at]], np.int32)
        row = loaded.plain.row(tokens).astype(np.float64)
        right = row - row.max() - np.log(np.exp(row - row.max()).sum())
        for one in (told[at], *told[at].top):
            if abs(one.logprob - right[one.token]) > _ATOL + _ATOL_PER_TOKEN * len(tokens):
                yield f"logprob {one} of token {at} instead of {right[one.token]}"


def wrong_cache(loaded: Loaded, rng: random.Random) -> Iterator[str]:
    """Whether the target's cache holds what it says, as it is or cut somewhere."""
    resident = loaded.target.resident.copy()
    if not len(resident) or rng.random() < 0.5:
        return
    cut = rng.choice((0, 0, 1, 2, 5, len(resident) // 2))
    tokens = resident[: max(1, len(resident) - cut)]
    if len(tokens) < loaded.target.n_ctx and rng.random() < 0.5:
        tokens = np.append(tokens, np.int32(_ANY))
    got = loaded.target.forward(tokens, n_logits=1)[0].copy()
    off = float(np.abs(got - loaded.plain.row(tokens)).max())
    if off > _ATOL + _ATOL_PER_TOKEN * len(tokens):
        yield f"the cache's logits are off by {off} after {len(tokens)} tokens, {cut} cut"
