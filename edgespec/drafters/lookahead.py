"""Lookahead decoding: the target guesses ahead of itself, and its guesses become drafts.

A window of Jacobi iterations runs beside decoding: column i holds a chain that begins i tokens
ahead, and every pass lengthens all of them by one token. What a column has said is an n-gram for
the pool; grams that begin with the last token are branches of the next pass. Needs no second
model and no text that repeats, but many rows: it pays only where rows are nearly free. What the
window has found remains in the pool, whose newest gram is a draft that costs no more than any.

The whole window is a tree, so every token of it is also a candidate: the trunk is the first level,
each column a branch that leaves it. Source: Fu et al. 2024 (arXiv 2402.02057); llama.cpp
examples/lookahead.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgespec.core import Branch, Draft, Logits, Row, Sampler, Tokens
from edgespec.costs import RowCosts
from edgespec.drafters import DrafterInputs
from edgespec.drafters.arms import Bucket, Heard, Offer, Rates
from edgespec.drafters.pool import Pool
from edgespec.drafters.suffix import ended


@dataclass(frozen=True, slots=True)
class Shape:
    """How wide a window, how long its grams, how many of them are tried."""

    width: int
    n: int
    """Tokens of a gram, the one it begins with included; 3 or more."""
    n_grams: int

    @property
    def n_nodes(self) -> int:
        """Draft tokens of a pass."""
        return self.width - 1 + self.width * (self.n - 2) + self.n_grams * (self.n - 1)

    @property
    def n_branches(self) -> int:
        """Columns and grams."""
        return self.width + self.n_grams


SHAPES = (Shape(3, 3, 1), Shape(4, 3, 3), Shape(6, 4, 4))
"""Passes of 8, 14 and 30 rows: each fills a step of the usual cost curves."""
MOST_GRAMS = max(shape.n_grams for shape in SHAPES)
MOST_BRANCHES = max(shape.n_branches for shape in SHAPES)
_WORTH = 1.5
"""A pass may take so many plain steps: what lookahead gains at this size on free text."""
_LONGEST = max(shape.n for shape in SHAPES) - 1
_POOL_PRIORS = (0.2, 0.5, 0.5)
_WINDOW_PRIORS = ((0.14, 0.52), (0.11, 0.6), (0.06, 0.6, 0.7))
"""By shape, then token, as counted with Qwen2.5-Coder-1.5B on chat, fiction and new code: on texts
that repeat, others are asked first. The first tokens are those of the first dozen passes: what a
window that has run for longer brings (0.22 and more) is learned from it."""
_AT_BEST = (1.2, 1.4, 2.0)
"""Tokens that a shape brought beyond a plain step on the text that suited it best: a summary that
quotes."""


def _first_bucket(shape: int) -> int:
    return _LONGEST + sum(s.n - 1 for s in SHAPES[:shape])


def window_offers(most: int, rates: Sequence[float]) -> Iterator[Offer]:
    """What each shape of at most `most` nodes promises, by the rates of lookahead's buckets."""
    for i, shape in enumerate(SHAPES):
        if shape.n_nodes <= most:
            first, survives, tokens = _first_bucket(i), 1.0, 0.0
            for rate in rates[first : first + shape.n - 1]:
                survives *= rate
                tokens += survives
            yield Offer(shape.n_nodes, tokens)


def window_buckets(n_nodes: int, depth: int) -> Sequence[int]:
    """Buckets of the first `depth` tokens of a way through the shape with so many nodes; none
    where no shape has so many."""
    for i, shape in enumerate(SHAPES):
        if shape.n_nodes == n_nodes:
            first = _first_bucket(i)
            return range(first, first + min(depth, shape.n - 1))
    return ()


def shape_for(costs: RowCosts) -> Shape | None:
    """The largest shape whose pass is cheap enough here; None: none is."""
    worth_it = (shape for shape in SHAPES if costs.of(1 + shape.n_nodes) <= _WORTH * costs.plain_s)
    return max(worth_it, key=lambda shape: shape.n_nodes, default=None)


class LookaheadDrafter:
    """Proposes the window's chains and the pool's grams as one tree; deterministic.

    With fewer nodes than a window takes: the pool's newest gram, a chain. Begins anew with a
    context that does not continue the last one. The window starts with tokens of the prompt, and
    so does the pool.
    """

    name = "lookahead"
    needs_draft_model = False
    needs_branches = MOST_BRANCHES
    buckets = (
        *(Bucket(f"said ahead, token {i}", p) for i, p in enumerate(_POOL_PRIORS, start=1)),
        *(
            Bucket(f"window of {shape.n_nodes}, token {i}", p)
            for shape, priors in zip(SHAPES, _WINDOW_PRIORS, strict=True)
            for i, p in enumerate(priors, start=1)
        ),
    )
    best = tuple(Offer(s.n_nodes, n) for s, n in zip(SHAPES, _AT_BEST, strict=True))

    def __init__(
        self, inputs: DrafterInputs, shape: Shape | None = None, *, from_text: bool = False
    ) -> None:
        """`from_text`: the pool speaks before a window was run."""
        self._from_text = from_text
        self._costs = inputs.costs
        self._shape = shape
        self._is_eog = inputs.is_eog
        self._pool = Pool(MOST_GRAMS)
        self._window: list[list[int]] = []
        """[n - 1 levels][width]"""
        self._shown: Shape | None = None
        """The shape of the last draft; its rows are still to be learned from."""
        self._n_grams = 0
        self._root = -1
        self._read: Tokens = np.empty(0, np.int32)
        self._said: tuple[int, ...] = ()
        """The pool's chain after `_read`."""

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """The whole tree of the shape with k nodes, else of the one that the curve says.

        Whoever asks for lookahead where no shape pays gets the smallest. Under a grammar no window
        is run: it would be cut, and what is cut cannot be learned from.
        """
        self._shown = None
        by_size = (shape for shape in SHAPES if shape.n_nodes == k)
        shape = self._shape or next(by_size, None) or shape_for(self._costs) or SHAPES[0]
        self._follow(context, shape)
        if shape.n_nodes > k or sampler.constraint is not None:
            return Draft(self._said[:k])
        n = len(context)
        self._root = int(context[-1])
        known = self._pool.after(self._root, shape.n_grams, shape.n - 1)
        grams = [ended(list(gram), self._is_eog) for gram in known]
        trunk = tuple(self._window[0][1:])
        columns = (tuple(level[i] for level in self._window[1:]) for i in range(shape.width))
        branches = [Branch(n, gram) for gram in grams]
        branches += [Branch(n + i, column) for i, column in enumerate(columns)]
        self._shown, self._n_grams = shape, len(grams)
        return Draft(trunk, branches=tuple(branches))

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        """The buckets of the pool's chain; nothing before a window was run, since retrieval from
        the text itself does better. See `arms.Free`."""
        if not (self._window or self._from_text):
            return iter(())
        n = len(self._read)
        if len(context) > n and np.array_equal(context[:n], self._read):
            pairs = zip(self._said, context[n:].tolist(), strict=False)
            for bucket, (said, token) in enumerate(pairs):
                heard(bucket, said == token)
                if said != token:
                    break
        self._follow(context, None)
        return iter(range(len(self._said)))

    def offers(self, context: Tokens, most: int, rates: Rates, heard: Heard) -> Iterator[Offer]:
        """Every shape that is small enough, by how far its ways came true; see `arms.Branching`."""
        return window_offers(most, rates[self.name])

    def way(self, n_nodes: int, depth: int) -> Sequence[int]:
        """The shape's buckets; none for the pool's chain, which is heard of."""
        return window_buckets(n_nodes, depth)

    def learn(self, context: Tokens, logits: Logits) -> None:
        """Lengthen every column by what the target said after it."""
        if self._shown is None:
            return
        shape, window = self._shown, self._window
        said = [self._usable(logits.branch(self._n_grams + i)[-1]) for i in range(shape.width)]
        for i, token in enumerate(said):
            # Column 0 went on from the real last token: its own first one may have been wrong.
            if i > 0 or window[0][0] == self._root:
                self._pool.remember([*(level[i] for level in window), token])
        self._window = [*window[1:], said]

    def _usable(self, row: Row) -> int:
        """The likeliest token that does not end the answer: a window never runs dry."""
        best = int(row.argmax())
        if not self._is_eog(best):
            return best
        near = np.argpartition(row, -8)[-8:]
        usable = (int(t) for t in near[np.argsort(-row[near])] if not self._is_eog(int(t)))
        return next(usable, best)

    def _follow(self, context: Tokens, shape: Shape | None) -> None:
        """Learn the grams of new tokens; begin anew when the context is another."""
        n = len(self._read)
        if not np.array_equal(context[:n], self._read):
            self._pool, self._window, n = Pool(MOST_GRAMS), [], 0
        size = (len(self._window), len(self._window[0])) if self._window else None
        if shape is not None and size != (shape.n - 1, shape.width):
            self._window = self._seeded(context, shape)
        text = context[max(0, n - _LONGEST) :].tolist()
        for i in range(len(text) - _LONGEST):
            self._pool.remember(text[i : i + _LONGEST + 1])
        self._read = context.copy()  # the caller's array may be a view of what grows on
        said = self._pool.after(int(context[-1]), 1, _LONGEST)
        self._said = ended(list(said[0]), self._is_eog) if said else ()

    def _seeded(self, context: Tokens, shape: Shape) -> list[list[int]]:
        """Any tokens do; those of the text are likelier than most."""
        text = [t for t in context[-256:].tolist() if not self._is_eog(t)] or [0]
        need = (shape.n - 1) * shape.width
        tokens = [text[(7 * i) % len(text)] for i in range(need)]
        return [tokens[j * shape.width : (j + 1) * shape.width] for j in range(shape.n - 1)]
