"""A model's cache as a small tree of resident tokens, reconciled with what a caller intends.

There is no rollback call. `forward` takes the whole intended sequence, keeps what is resident of
it, decodes the rest. Cache positions exist in this class and below it only.

Sequence 0 is the trunk. Sequences 1.. hold the branches of the last pass until the next `forward`:
if its tokens continue along one, the branch's cells are adopted (metadata only).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from edgespec.core import Branch, Tokens
from edgespec.engine.batch import Batch
from edgespec.engine.context import NativeContext
from edgespec.engine.rollback import Kind, Rollback
from edgespec.engine.rows import IS_CHECKING, Rows


@dataclass(frozen=True, slots=True)
class _Resident:
    """A branch of the last pass: cells of `sequence` after the trunk's first `at` tokens."""

    sequence: int
    at: int
    tokens: Tokens


class LlamaSession:
    """Implements `core.Session` over one native context. One thread at a time; `close` frees."""

    def __init__(self, context: NativeContext, rollback: Rollback) -> None:
        self._context = context
        self._rollback = rollback
        options = context.options
        self.n_ctx = context.n_ctx
        """Most tokens a sequence may have."""
        self.n_vocab = context.n_vocab
        """Width of a logits row."""
        self.max_logits = options.max_logits
        """Most rows, trunk and branches together, of one pass."""
        self.max_branches = options.max_branches
        """Most branches of one pass; 0 where the memory cannot hold any."""
        self.n_batch = options.n_batch
        """Tokens per native call: the grain of prefill progress."""
        self._batch = Batch(self.n_batch, 1 + self.max_branches, self.n_ctx)
        self._buffer = np.zeros(self.n_ctx, np.int32)
        self._n_resident = 0
        self._branches: tuple[_Resident, ...] = ()
        self._rows = Rows.none()

    @property
    def native_s(self) -> float:
        """Seconds spent inside llama.cpp's passes so far: what is not our own cost."""
        return self._context.native_s

    @property
    def output_bytes(self) -> int:
        """Bytes of llama.cpp's buffer for logits, as far as it has grown."""
        return self._context.output_bytes

    @property
    def rollback(self) -> Kind:
        """Class of memory: changes costs, never results."""
        return self._rollback.kind

    @property
    def resident(self) -> Tokens:
        """The trunk's resident tokens, read-only, valid until the next `forward`."""
        view = self._buffer[: self._n_resident]
        view.flags.writeable = False
        return view

    def resident_prefix(self, tokens: Tokens) -> int:
        """How many leading tokens of `tokens` are resident."""
        return _common_prefix(self._buffer[: self._n_resident], tokens)

    def retain(self, tokens: Tokens) -> int:
        """Drop all that is not a beginning of `tokens`; gives how many of them stay resident.

        What `resident_prefix` promises, less what this memory cannot be cut back to.
        """
        self._rows.expire()
        self._keep(self._adopted(tokens))
        return self._n_resident

    def hold(self) -> None:
        """Be able to come back to the resident tokens cheaply, whatever follows them."""
        self._rollback.hold(self._n_resident)

    def forward(self, tokens: Tokens, *, n_logits: int, branches: Sequence[Branch] = ()) -> Rows:
        """Make `tokens` resident and give the last `n_logits` rows; see `core.Session`."""
        n_rows = n_logits
        for branch in branches:
            n_rows += len(branch.tokens)
        self._check(tokens, n_logits, n_rows, branches)
        self._rows.expire()
        self._keep(min(self._adopted(tokens), len(tokens) - n_logits))
        missing = len(tokens) - self._n_resident
        try:
            self._decode(tokens, n_logits, n_rows, branches)
        except BaseException:  # a state that could not be saved, or a fault of ours
            self._resync()
            raise
        if IS_CHECKING:
            assert self._context.end() == self._n_resident, "the cache is not what it should be"
        data = self._context.rows(n_rows) if n_rows else None
        self._rows = Rows(data, n_logits, branches, missing + n_rows - n_logits)
        return self._rows

    def close(self) -> None:
        """Free the cache; idempotent."""
        self._rows.expire()
        self._context.close()

    def _check(
        self, tokens: Tokens, n_logits: int, n_rows: int, branches: Sequence[Branch]
    ) -> None:
        n = len(tokens)
        assert 0 < n <= self.n_ctx, f"{n} tokens in a context of {self.n_ctx}"
        assert 0 <= n_logits <= n, f"{n_logits} rows of {n} tokens"
        assert n_rows <= self.max_logits, f"{n_rows} rows, {n_logits} of the trunk"
        assert len(branches) <= self.max_branches, f"{len(branches)} branches"
        for branch in branches:
            assert branch.tokens, "an empty branch"
            assert 0 < branch.at <= n, f"a branch at {branch.at} of {n}"
            assert branch.at + len(branch.tokens) <= self.n_ctx, "a branch beyond the context"

    def _adopted(self, tokens: Tokens) -> int:
        """Continue along the branch that holds more of `tokens` than the trunk; drop the others.

        Returns: how many leading tokens of `tokens` the trunk then holds.
        """
        best, best_n = None, self.resident_prefix(tokens)
        if not self._branches:
            return best_n
        n_trunk = best_n  # a branch continues the trunk, never another branch
        for branch in self._branches:
            if n_trunk >= branch.at:
                n = branch.at + _common_prefix(branch.tokens, tokens[branch.at :])
                if n > best_n:
                    best, best_n = branch, n
        if best is not None:
            self._context.remove(0, best.at)
            self._context.copy(best.sequence, 0, best.at, best_n)
            self._buffer[best.at : best_n] = tokens[best.at : best_n]
            self._n_resident = best_n
        for branch in self._branches:
            self._context.remove(branch.sequence, 0)  # a whole sequence: never fails (llama.h)
        self._branches = ()
        return best_n

    def _keep(self, n: int) -> None:
        """Shrink the trunk to at most `n` resident tokens; may keep fewer."""
        if n < self._n_resident:
            self._n_resident = self._rollback.shorten(n)
            assert self._n_resident <= n, f"{self._n_resident} kept of {n}"

    def _decode(
        self, tokens: Tokens, n_logits: int, n_rows: int, branches: Sequence[Branch]
    ) -> None:
        """Grow the trunk to `tokens`, chunk by chunk; branches go with the last chunk."""
        n_last = min(len(tokens) - self._n_resident, self.n_batch - (n_rows - n_logits))
        assert n_last >= n_logits, f"{n_logits} rows do not fit a batch of {self.n_batch}"
        end_of_prefill = len(tokens) - n_last
        while self._n_resident < end_of_prefill:
            end = min(self._n_resident + self.n_batch, end_of_prefill)
            self._pass(tokens[:end], 0, ())
        if n_last or branches:
            self._pass(tokens, n_logits, branches)

    def _pass(self, tokens: Tokens, n_logits: int, branches: Sequence[Branch]) -> None:
        """One native decode of what `tokens` has beyond the resident ones."""
        start, end = self._n_resident, len(tokens)
        self._rollback.before_decode(start, n_rows=end - start, n_doubtful=n_logits - 1)
        self._batch.clear()
        self._add_trunk(tokens, n_logits, branches)
        resident = []
        for sequence, branch in enumerate(branches, start=1):
            self._context.copy(0, sequence, 0, min(branch.at, start))
            ids = np.array(branch.tokens, np.int32)
            self._batch.add(ids, start=branch.at, n_logits=len(ids), sequences=(sequence,))
            resident.append(_Resident(sequence, branch.at, ids))
        self._branches = tuple(resident)
        self._context.decode(self._batch)
        self._rollback.decoded(end - start)
        self._buffer[start:end] = tokens[start:]
        self._n_resident = end

    def _add_trunk(self, tokens: Tokens, n_logits: int, branches: Sequence[Branch]) -> None:
        """Trunk rows, shared with every branch that leaves after them."""
        if not branches:
            start = self._n_resident
            self._batch.add(tokens[start:], start=start, n_logits=n_logits)
            return
        first_wanted = len(tokens) - n_logits
        leaving = (branch.at for branch in branches if branch.at > self._n_resident)
        cuts = sorted({self._n_resident, first_wanted, len(tokens), *leaving})
        for start, end in pairwise(cuts):
            sharing = (i for i, branch in enumerate(branches, start=1) if branch.at >= end)
            wanted = end - start if end > first_wanted else 0
            self._batch.add(
                tokens[start:end], start=start, n_logits=wanted, sequences=(0, *sharing)
            )

    def _resync(self) -> None:
        """After a fault: believe llama.cpp about what is left, or nothing where it cannot tell."""
        for sequence in range(1, 1 + self.max_branches):
            self._context.remove(sequence, 0)
        self._branches = ()
        self._rollback.decoded(0)
        left = self._context.end()
        if self._rollback.kind != "trim" or left > len(self._buffer):
            left = 0  # a recurrent state may hold half a batch
        self._n_resident = min(self._n_resident, left)
        if left == 0 or left > self._n_resident:
            self._n_resident = self._rollback.shorten(self._n_resident)


def _common_prefix(a: Tokens, b: Tokens) -> int:
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    if a.tobytes() == b.tobytes():  # numpy's own comparison would let other threads in
        return n
    return int((a != b).argmax())
