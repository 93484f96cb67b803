"""Stand-ins behind the Protocols of `edgespec.core`: a model without weights, drafters that are
always right, always wrong, fixed or random. Deterministic, and independent of the code under test.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from edgespec.core import Branch, Dist, Draft, Row, Sampler, Tokens
from edgespec.errors import DecodeFailed
from edgespec.index.retrieve import Retrieved, Retriever, Said


class FakeLogits:
    """Rows of one pass; overwritten with NaN by the session's next one."""

    def __init__(self, rows: list[Row], branches: list[list[Row]], n_decoded: int) -> None:
        self._rows = rows
        self._branches = branches
        self._n_decoded = n_decoded

    @property
    def n_decoded(self) -> int:
        return self._n_decoded

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: int) -> Row:
        return _read_only(self._rows[i])

    def branch(self, b: int) -> Sequence[Row]:
        return [_read_only(row) for row in self._branches[b]]

    def poison(self) -> None:
        for row in [*self._rows, *(row for rows in self._branches for row in rows)]:
            row.fill(np.nan)


class NumpyLM:
    """A `core.Session` whose logits are a hash of the last `order` tokens that are resident.

    A wrong cache shows in the logits, a wasteful one in `n_decoded`. `faults` holds the numbers
    of the `forward` calls (from 0) that fail after half of their tokens.
    """

    def __init__(
        self,
        n_vocab: int = 8,
        *,
        n_ctx: int = 1024,
        order: int = 3,
        seed: int = 0,
        scale: float = 2.0,
        max_logits: int = 64,
        faults: Sequence[int] = (),
    ) -> None:
        self.n_vocab = n_vocab
        self.n_ctx = n_ctx
        self.max_logits = max_logits
        self.n_decoded = 0
        self.n_calls = 0
        self.faults = frozenset(faults)
        self._order, self._seed, self._scale = order, seed, scale
        self._resident: list[int] = []
        self._branch_paths: list[list[int]] = []
        self._logits = FakeLogits([], [], 0)
        self._rows: dict[tuple[int, ...], Row] = {}

    def row(self, tokens: Sequence[int] | Tokens) -> Row:
        """The logits after `tokens`, whatever is resident: an oracle for tests."""
        key = tuple(int(token) for token in tokens[-self._order :])
        if key not in self._rows:
            rng = np.random.default_rng([self._seed, len(key), *key])
            self._rows[key] = (self._scale * rng.normal(size=self.n_vocab)).astype(np.float32)
        return self._rows[key].copy()

    def greedy(self, prompt: Sequence[int], n_tokens: int) -> list[int]:
        """The `n_tokens` most likely tokens after `prompt`, one by one."""
        tokens = [int(token) for token in prompt]
        for _ in range(n_tokens):
            tokens.append(int(self.row(tokens).argmax()))
        return tokens[len(prompt) :]

    def resident_prefix(self, tokens: Tokens) -> int:
        return max(_common(path, tokens) for path in [self._resident, *self._branch_paths])

    def forward(
        self, tokens: Tokens, *, n_logits: int, branches: Sequence[Branch] = ()
    ) -> FakeLogits:
        n_rows = n_logits + sum(len(branch.tokens) for branch in branches)
        assert 0 <= n_logits <= len(tokens) <= self.n_ctx, (n_logits, len(tokens), self.n_ctx)
        assert n_rows <= self.max_logits, (n_rows, self.max_logits)
        self._logits.poison()
        kept = min(self.resident_prefix(tokens), len(tokens) - n_logits)
        path = max([self._resident, *self._branch_paths], key=lambda path: _common(path, tokens))
        fresh = [int(token) for token in tokens[kept:]]
        self.n_calls += 1
        if self.n_calls - 1 in self.faults:
            self._resident = path[:kept] + fresh[: len(fresh) // 2]
            self._branch_paths = []
            raise DecodeFailed("the fake was told to fail")
        self._resident = path[:kept] + fresh
        self._branch_paths = [self._resident[: b.at] + list(b.tokens) for b in branches]
        n_decoded = len(fresh) + n_rows - n_logits
        self.n_decoded += n_decoded
        end = len(self._resident)
        self._logits = FakeLogits(
            [self.row(self._resident[:at]) for at in range(end - n_logits + 1, end + 1)],
            [
                [self.row(path[:at]) for at in range(b.at + 1, len(path) + 1)]
                for b, path in zip(branches, self._branch_paths, strict=True)
            ],
            n_decoded,
        )
        return self._logits


class OracleDrafter:
    """Knows the whole text in advance: every draft is accepted by a greedy target."""

    name = "oracle"

    def __init__(self, text: Sequence[int]) -> None:
        self._text = tuple(int(token) for token in text)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft(self._text[len(context) : len(context) + k])


class WrongDrafter:
    """Knows the whole text, and avoids it: no draft is accepted by a greedy target."""

    name = "wrong"

    def __init__(self, text: Sequence[int], n_vocab: int) -> None:
        self._text = tuple((int(token) + 1) % n_vocab for token in text)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft(self._text[len(context) : len(context) + k])


class FixedDrafter:
    """Proposes the same tokens at every step."""

    name = "fixed"

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tuple(tokens)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft(self._tokens[:k])


class RandomDrafter:
    """Any tokens, a deterministic function of the context."""

    name = "random"

    def __init__(self, n_vocab: int, seed: int = 0) -> None:
        self._n_vocab, self._seed = n_vocab, seed

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        rng = np.random.default_rng([self._seed, *context.tolist()])
        return Draft(tuple(rng.integers(self._n_vocab, size=k).tolist()))


class SampledDrafter:
    """Draws every token from a q that `law` gives for the tokens so far."""

    name = "sampled"

    def __init__(self, law: Callable[[Tokens], Dist]) -> None:
        self._law = law

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        tokens = context
        dists: list[Dist] = []
        for _ in range(k):
            dists.append(self._law(tokens))
            token = sampler.draw_draft(dists[-1], len(tokens))
            tokens = np.append(tokens, np.int32(token))
        return Draft(tuple(tokens[len(context) :].tolist()), tuple(dists))


def tokens_of(*tokens: int) -> Tokens:
    """An array as the engine passes it."""
    return np.array(tokens, np.int32)


def _common(path: Sequence[int], tokens: Tokens) -> int:
    n = 0
    while n < min(len(path), len(tokens)) and path[n] == tokens[n]:
        n += 1
    return n


def _read_only(row: Row) -> Row:
    view = row.view()
    view.flags.writeable = False
    return view


class ListRetriever(Retriever):
    """Searches documents by hand: the longest match of at least 3 tokens, every place a voter."""

    def __init__(self, *documents: Sequence[int]) -> None:
        self.documents = [list(document) for document in documents]

    def __len__(self) -> int:
        return sum(map(len, self.documents))

    def retrieve(self, context: Tokens) -> Retrieved:
        text = context.tolist()
        for n in range(len(text), 2, -1):
            end = text[len(text) - n :]
            ways = [
                document[i + n : i + n + 63]
                for document in self.documents
                for i in range(len(document) - n + 1)
                if document[i : i + n] == end
            ]
            if ways:
                return Retrieved(_by_vote(ways), n)
        return Retrieved(iter(()), 0)

    def close(self) -> None:
        """Nothing is open."""


def _by_vote(ways: list[list[int]]) -> Iterator[Said]:
    """The majority at each depth, among those that went that way; the end of a document votes."""
    while ways:
        firsts = [way[0] if way else -1 for way in ways]
        token = max(dict.fromkeys(firsts), key=firsts.count)
        if token < 0:
            return
        yield Said(token, firsts.count(token), len(ways))
        ways = [way[1:] for way in ways if way and way[0] == token]
