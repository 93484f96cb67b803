"""The types that cross modules: distributions, drafts, and the Protocols at the seams.

Imports numpy and plain values only. p is the target's distribution, q the drafter's, k the draft
length.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from edgespec.events import Step
from edgespec.shaping import Sampling as Sampling

Tokens = npt.NDArray[np.int32]
Probs = npt.NDArray[np.float64]
Row = npt.NDArray[np.float32]
"""Logits of one position, [n_vocab]."""
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Dist:
    """A sparse distribution over token ids."""

    ids: Tokens
    """[m], strictly ascending."""
    probs: Probs
    """[m], positive, sums to 1."""

    @staticmethod
    def point(token: int) -> "Dist":
        """All mass on one token: what greedy decoding is."""
        ids = np.empty(1, np.int32)  # an array of a list takes twice as long, at every step
        ids[0] = token
        return Dist(ids, _ONE)

    def prob(self, token: int) -> float:
        """Probability of `token`; 0 outside the support."""
        at = int(np.searchsorted(self.ids, token))
        if at < len(self.ids) and self.ids[at] == token:
            return float(self.probs[at])
        return 0.0

    def probs_of(self, ids: Tokens) -> Probs:
        """Probabilities of `ids`, [len(ids)]; 0 outside the support."""
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        found: Probs = np.where(self.ids[at] == ids, self.probs[at], 0.0)
        return found

    def draw(self, u: float) -> int:
        """The token at `u` in [0, 1) of the cumulative distribution."""
        if len(self.ids) == 1:
            return int(self.ids[0])
        if len(self.ids) <= _BLOCK:
            cumulative = np.cumsum(self.probs)
            return int(self.ids[_first_above(cumulative, u * cumulative[-1])])
        # A running sum over a whole vocabulary takes half a millisecond; plain sums of blocks and
        # the running sum of one block a tenth of that.
        ends = np.cumsum(np.add.reduceat(self.probs, np.arange(0, len(self.ids), _BLOCK)))
        goal = u * ends[-1]
        block = _first_above(ends, goal)
        part = slice(block * _BLOCK, (block + 1) * _BLOCK)
        before = ends[block - 1] if block else 0
        return int(self.ids[part][_first_above(np.cumsum(self.probs[part]), goal - before)])


_BLOCK = 1024


def _first_above(ascending: Probs, x: float) -> int:
    """Index of the first entry above `x`; of the last one where rounding leaves none."""
    return min(int(np.searchsorted(ascending, x, side="right")), len(ascending) - 1)


_ONE = np.ones(1, np.float64)


@dataclass(frozen=True, slots=True)
class Branch:
    """A chain of tokens that leaves the trunk after its first `at` tokens."""

    at: int
    """Counts the context's tokens and the draft's: len(context) is the root of a tree."""
    tokens: tuple[int, ...]
    dists: tuple[Dist, ...] = ()
    """As in `Draft`. The first token of a sampled branch was drawn without replacement: its q
    lacks what the trunk and earlier branches drew in its place."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens x₁..x_k with the distributions q₁..q_k they were drawn from.

    `dists` empty: a deterministic draft, every q a point mass. A sampled draft keeps every token
    it drew (dropping one because of its value would change the output's law). With branches it is
    a tree: `tokens` its trunk, each branch another way to go on from somewhere along it. Whether
    branches are sampled must not follow from what was drawn: it decides how a sampled trunk is
    judged, token by token or as a block.
    """

    tokens: tuple[int, ...] = ()
    dists: tuple[Dist, ...] = ()
    branches: tuple[Branch, ...] = ()
    match: int = 0
    """Length of the match that retrieval drafted from."""

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def n_nodes(self) -> int:
        """Tokens of the trunk and of all branches."""
        return len(self.tokens) + sum(len(branch.tokens) for branch in self.branches)

    def along(self, branch: int | None, n_context: int) -> tuple[int, ...]:
        """The drafted tokens on the way through a branch; None: those of the trunk."""
        if branch is None:
            return self.tokens
        taken = self.branches[branch]
        return (*self.tokens[: taken.at - n_context], *taken.tokens)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`tokens`: the first `accepted` draft tokens, then exactly one of the target's own."""

    accepted: int
    tokens: tuple[int, ...]
    kind: Literal["recovered", "bonus"]
    branch: int | None = None
    """The branch that the accepted tokens lead into; None: they stay on the trunk."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the controller wants: this drafter, at most k tokens; k = 0 is plain decoding."""

    drafter: str
    k: int
    steering: "Steering | None" = None
    """Decides token by token how far a draft goes within k; for drafters that are `Steered`."""
    n_read: int = 0
    """Tokens of the context that a `Steered` drafter reads in this step instead of drafting."""


class Steering(Protocol):
    """Decides how far a draft goes, never by the value of a token that was drawn: a drawn token
    is kept, or the output's law would change."""

    def asks(self) -> bool:
        """Whether one more token is worth a pass of the draft model."""
        ...

    def draws(self, confidence: float) -> bool:
        """Whether to draw it, the pass having shown how sure the draft model is."""
        ...

    def kept(self, n_drawn: int) -> int:
        """How many of the tokens to keep of a draft that was not sampled: such a draft may be cut,
        also by what it holds, for it is only a guess."""
        ...


class Constraint(Protocol):
    """A grammar's state after some prefix; immutable, so a refused draft leaves no trace."""

    def allowed(self, ids: Tokens) -> Mask:
        """Which of `ids` may come next, [len(ids)]."""
        ...

    def advanced(self, token: int) -> "Constraint":
        """The state after `token`, which must be allowed."""
        ...


class Logits(Protocol):
    """Rows of the last pass: views of native memory, valid until the session's next `forward`."""

    @property
    def n_decoded(self) -> int:
        """Tokens that were really decoded, re-decoded ones included."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, i: int) -> Row:
        """Row i of the trunk's last `n_logits` tokens, read-only."""
        ...

    def branch(self, b: int) -> Sequence[Row]:
        """Rows of branch b's tokens."""
        ...


class Session(Protocol):
    """A model's cache; holds resident tokens, knows no request."""

    @property
    def n_ctx(self) -> int:
        """Most tokens a sequence may have."""
        ...

    @property
    def n_vocab(self) -> int:
        """Width of a logits row."""
        ...

    @property
    def max_logits(self) -> int:
        """Most rows (trunk and branches together) that one `forward` may ask for."""
        ...

    def resident_prefix(self, tokens: Tokens) -> int:
        """How many leading tokens of `tokens` are resident already."""
        ...

    def forward(self, tokens: Tokens, *, n_logits: int, branches: Sequence[Branch] = ()) -> Logits:
        """Make `tokens` (the whole intended sequence) resident; give the last `n_logits` rows.

        Decodes only what is not resident. Raises: `DecodeFailed`, `Interrupted`; the session
        stays usable.
        """
        ...


Rule = Literal["match", "token", "block"]
"""How drafts are judged: see `verify`."""


class Sampler(Protocol):
    """One request's shaping and randomness; the same object serves target and draft."""

    @property
    def rule(self) -> Rule:
        """How its sampled drafts must be judged."""
        ...

    @property
    def constraint(self) -> Constraint | None:
        """The grammar's state after the committed tokens."""
        ...

    def dist(self, row: Row, history: Tokens, constraint: Constraint | None = None) -> Dist:
        """The shaped distribution of the token after `history` (the whole sequence so far)."""
        ...

    def draw(self, dist: Dist, position: int) -> int:
        """The target's token at `position`: exactly one random number per call."""
        ...

    def uniform(self) -> float:
        """A number in [0, 1) for acceptance tests."""
        ...

    def commit(self, token: int) -> None:
        """Advance the grammar by a committed token that does not end the answer."""
        ...

    def draw_draft(self, dist: Dist, position: int) -> int:
        """A drafter's token at `position`: from a stream of its own, or the target's noise when
        reproducible."""
        ...


class Drafter(Protocol):
    """Proposes tokens; may be wrong, never breaks the law of the output."""

    name: str

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens after `context` (all committed tokens; not to be mutated).

        k = 0 gives an empty draft. A drafter catches up with `context` by itself, whatever was
        committed, cut or replaced since its last call.
        """
        ...


@runtime_checkable
class Steered(Protocol):
    """A drafter with a model of its own, which costs passes: it reads and drafts as it is told."""

    def read(self, context: Tokens, n_tokens: int, sampler: Sampler) -> None:
        """Read at most `n_tokens` more of `context`, which must not be drafted for yet."""
        ...

    def draft_while(self, context: Tokens, k: int, sampler: Sampler, steering: Steering) -> Draft:
        """As `Drafter.draft`, but going on only as `steering` says."""
        ...


@runtime_checkable
class LearnsFromTarget(Protocol):
    """A drafter that reads the target's rows of its own branches."""

    def learn(self, context: Tokens, logits: Logits) -> None:
        """Called after the step's tokens were committed, while the rows are still valid; not when
        a grammar cut the draft, whose branches would be others than those proposed."""
        ...


class Controller(Protocol):
    """Chooses drafter and length for every step."""

    def choose(self, context: Tokens, budget: int) -> Choice:
        """A choice with k ≤ budget."""
        ...

    def observe(self, step: Step) -> None:
        """Learn from the finished step."""
        ...


class Vocab(Protocol):
    """A tokenizer as text needs it."""

    n_tokens: int
    add_bos: bool
    bos: int

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The token's bytes; control tokens are empty unless `special`."""
        ...

    def tokenize(self, text: str, *, parse_special: bool, add_special: bool = False) -> list[int]:
        """Token ids; `parse_special` reads control tokens in the text, `add_special` adds BOS."""
        ...

    def is_eog(self, token: int) -> bool:
        """Whether `token` ends a generation."""
        ...

    def control_texts(self) -> tuple[str, ...]:
        """Texts of all control and user-defined tokens, longest first."""
        ...
