"""One `llama_batch` backed by numpy, allocated once and refilled for every pass.

Filling it costs microseconds; llama_cpp's own batch classes cost 34 to 1,486 (llamacpp.md 1.3).
"""

import ctypes
from typing import Any

import numpy as np

from edgespec.core import Tokens
from edgespec.engine import binding

_TRUNK = (0,)


class Batch:
    """Rows to decode: token, position, the sequences that hold it, and if its logits are wanted."""

    def __init__(self, n_max: int, n_sequences: int, n_ctx: int) -> None:
        self.n_max = n_max
        self.n_rows = 0
        self.n_logits = 0
        self._token = np.zeros(n_max, np.int32)
        self._position = np.zeros(n_max, np.int32)
        self._n_sequences = np.ones(n_max, np.int32)
        self._sequences = np.zeros((n_max, n_sequences), np.int32)
        self._wants_logits = np.zeros(n_max, np.int8)
        self._positions = np.arange(n_ctx, dtype=np.int32)
        self._has_branches = False
        """A row belongs to others than sequence 0."""
        row_bytes = self._sequences.strides[0]
        self._pointers = self._sequences.ctypes.data + np.arange(n_max, dtype=np.uintp) * row_bytes
        self._struct = self._make_struct()

    def _make_struct(self) -> Any:
        batch = binding.lib().llama_batch()
        batch.embd = None
        for field, array, kind in (
            ("token", self._token, ctypes.c_int32),
            ("pos", self._position, ctypes.c_int32),
            ("n_seq_id", self._n_sequences, ctypes.c_int32),
            ("seq_id", self._pointers, ctypes.POINTER(ctypes.c_int32)),
            ("logits", self._wants_logits, ctypes.c_int8),
        ):
            setattr(batch, field, ctypes.cast(array.ctypes.data, ctypes.POINTER(kind)))
        return batch

    def clear(self) -> None:
        """Empty the batch."""
        if self._has_branches:
            self._n_sequences[: self.n_rows] = 1
            self._sequences[: self.n_rows] = 0
            self._has_branches = False
        self.n_rows = self.n_logits = 0

    def add(
        self, tokens: Tokens, *, start: int, n_logits: int, sequences: tuple[int, ...] = _TRUNK
    ) -> None:
        """Append `tokens` at positions [start, start + len) of `sequences`."""
        n = len(tokens)
        end = self.n_rows + n
        assert end <= self.n_max, f"{end} rows in a batch of {self.n_max}"
        rows = slice(self.n_rows, end)
        self._token[rows] = tokens
        self._position[rows] = self._positions[start : start + n]
        if sequences != _TRUNK:
            self._n_sequences[rows] = len(sequences)
            self._sequences[rows, : len(sequences)] = sequences
            self._has_branches = True
        if n_logits < n:
            self._wants_logits[rows] = 0
        self._wants_logits[end - n_logits : end] = 1
        self.n_rows = end
        self.n_logits += n_logits

    def native(self) -> Any:
        """The `llama_batch`; valid while this object lives and until the next change."""
        self._struct.n_tokens = self.n_rows
        return self._struct
