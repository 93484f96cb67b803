"""What an index costs at a given size: building its shard and searching it, measured."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from edgespec.bench.memory import peak_bytes
from edgespec.core import Tokens
from edgespec.index import shard
from edgespec.index.retrieve import Retriever
from edgespec.index.shard import Shard
from edgespec.index.suffix_array import DEPTH, SEPARATOR, Stored

_FINGERPRINT = bytes(32)
_N_QUERIES = 2000
_ROUNDS = 8
_READ = 8
"""Tokens of each answer that are read: as many as a controller mostly looks at."""
_VOCABULARY = 150_000
_ZIPF = 1.25
"""Tokens are about as unevenly distributed as those of source code."""


@dataclass(frozen=True, slots=True)
class IndexSpeed:
    """One measurement; CPU time, so that other work on the machine disturbs it little."""

    n_tokens: int
    build_s: float
    build_beyond_bytes: int
    """Peak memory beyond what the process had with the tokens in it."""
    shard_bytes: int
    hit_s: float
    """A context that goes on as it did somewhere: the longest search."""
    miss_s: float
    next_s: float
    """The context one token later, where the match goes on."""


def measure(n_tokens: int, tell: Callable[[str], None]) -> IndexSpeed:
    """Build a shard of made-up text with repetitions, and ask it what it holds and what not."""
    tell(f"making up {n_tokens:,} tokens")
    tokens = made_up(n_tokens)
    before_bytes = peak_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "measured.shard"
        tell("sorting their suffixes")
        began_s = process_time()
        shard.write(path, tokens, _FINGERPRINT)
        build_s = process_time() - began_s
        beyond = peak_bytes() - before_bytes
        tell("searching")
        found = Retriever([Shard(path, _FINGERPRINT)])
        try:
            rng = np.random.default_rng(1)
            starts = rng.integers(0, n_tokens - 2 * DEPTH, _N_QUERIES)
            there = [tokens[i : i + DEPTH + 1].astype(np.int32) - 1 for i in starts]
            hits = [context[:DEPTH] for context in there]
            misses = [rng.permutation(context) for context in hits]
            return IndexSpeed(
                n_tokens, build_s, beyond, os.stat(path).st_size,
                hit_s=_seconds(found, hits),
                miss_s=_seconds(found, misses),
                next_s=_seconds_of_next(found, there),
            )  # fmt: skip
        finally:
            found.close()


def made_up(n: int) -> Stored:
    """Tokens of which half repeat earlier passages of 20 to 200."""
    rng = np.random.default_rng(0)
    tokens = np.minimum(rng.zipf(_ZIPF, n), _VOCABULARY).astype(np.uint32)
    at = 1000
    while at < n - 400:
        length = int(rng.integers(20, 200))
        source = int(rng.integers(0, at - length))
        tokens[at : at + length] = tokens[source : source + length]
        at += length + int(rng.integers(20, 200))
    tokens[-1] = SEPARATOR  # as every document ends
    return tokens


def _seconds(found: Retriever, contexts: list[Tokens]) -> float:
    """Of one query, warm: in the best of the rounds, since other work empties the caches."""

    def round_s() -> float:
        began_s = process_time()
        for context in contexts:
            found.restart()
            found.retrieve(context).tokens(_READ)
        return process_time() - began_s

    return min(round_s() for _ in range(_ROUNDS)) / len(contexts)


def _seconds_of_next(found: Retriever, contexts: list[Tokens]) -> float:
    def round_s() -> float:
        took_s = 0.0
        for context in contexts:
            found.restart()
            found.retrieve(context[:DEPTH])
            began_s = process_time()
            found.retrieve(context).tokens(_READ)
            took_s += process_time() - began_s
        return took_s

    return min(round_s() for _ in range(_ROUNDS)) / len(contexts)
