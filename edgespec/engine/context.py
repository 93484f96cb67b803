"""One native context: creation, decoding with typed errors, and the cache's primitive verbs.

Knows sequences and positions as llama.cpp does; what is resident and why is `session.py`'s affair.
Every limit that llama.cpp would enforce by aborting the process is checked before the call.
"""

import ctypes
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from edgespec.engine import binding
from edgespec.engine.batch import Batch
from edgespec.engine.interrupt import Interrupt
from edgespec.engine.rpc.relay import Relay
from edgespec.errors import DecodeFailed, DoesNotFit, EngineError, Interrupted
from edgespec.gguf.tables import TENSOR_TYPES
from edgespec.plan.types import KvType, is_quantised

_log = logging.getLogger(__name__)

_KV_TYPES = {kind.name.lower(): number for number, kind in TENSOR_TYPES.items()}

_ABORTED = 2
_DECODE_MEANINGS = {
    1: "no free cells in the cache for this batch",
    -1: "the batch breaks llama.cpp's rules",
    -2: "the memory for this batch could not be had",
    -3: "the computation failed",
}


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """Sizes of one context; what they cost is what llama.cpp allocates for them."""

    n_ctx: int
    n_batch: int
    """Most tokens in one native call: a prefill chunk."""
    max_logits: int
    """Most rows with logits in one pass; sizes the output and compute buffers."""
    n_threads: int
    max_branches: int = 0
    kv_type: KvType = "f16"
    n_snapshots: int = 0
    """Recurrent states kept per sequence for rollback; multiplies their memory."""


def context_refused(options: ContextOptions, said: str) -> EngineError | DoesNotFit:
    """Why `llama_init_from_model` gave nothing, by what it logged."""
    message = f"llama.cpp could not make a context of {options.n_ctx:,} tokens"
    if is_about_memory(said):
        return DoesNotFit(f"{message} ({said})", hint="try a smaller --ctx")
    return EngineError(f"{message} ({said or 'no reason given'})")


def is_about_memory(said: str) -> bool:
    """Whether a line of llama.cpp's log tells of memory that could not be had."""
    return "alloc" in said.lower() or "memory" in said.lower()


class NativeContext:
    """Owns a `llama_context`; `close` frees it. One thread at a time."""

    def __init__(
        self,
        model: Any,
        options: ContextOptions,
        interrupt: Interrupt | None = None,
        relays: Sequence[Relay] = (),
    ) -> None:
        """Make a context of `model`. `relays`: those of the workers that hold a part of it."""
        # llama.cpp has room for a row of each sequence, and ends the process where it may not.
        assert options.max_logits > options.max_branches, f"{options.max_logits} rows"
        self._lib = binding.lib()
        self.options = options
        self._relays = relays
        self.native_s = 0.0
        """Seconds spent in llama_decode, and waiting for its logits, so far."""
        binding.forget_errors()
        self._handle: Any = self._lib.llama_init_from_model(model, self._params(options))
        if not self._handle:
            self._check_workers()
            raise context_refused(options, binding.error_tail())
        self._interrupt = interrupt  # llama.cpp holds its address
        if interrupt is not None:
            interrupt.install(self._handle)
            for relay in relays:
                relay.heed(interrupt)
        self._memory = self._lib.llama_get_memory(self._handle)
        # llama.cpp pads to 256; what was asked for is what a caller sees.
        self.n_ctx = min(options.n_ctx, int(self._lib.llama_n_ctx_seq(self._handle)))
        self.n_snapshots = int(self._lib.llama_n_rs_seq(self._handle))
        self.n_vocab = int(self._lib.llama_vocab_n_tokens(self._lib.llama_model_get_vocab(model)))
        self._logits_of = binding.logits_address()
        self._logits = np.empty((0, self.n_vocab), np.float32)
        self._logits_address = 0
        self._n_output_rows = 1 + options.max_branches  # llama.cpp begins with one per sequence

    def _params(self, options: ContextOptions) -> Any:
        params = self._lib.llama_context_default_params()
        params.n_ctx = options.n_ctx
        params.n_batch = params.n_ubatch = options.n_batch
        params.n_seq_max = 1 + options.max_branches
        params.kv_unified = options.max_branches > 0
        params.n_outputs_max = params.n_outputs_max_per_seq = options.max_logits
        params.n_rs_seq = options.n_snapshots
        params.n_threads = params.n_threads_batch = options.n_threads
        params.type_k = params.type_v = _KV_TYPES[options.kv_type]
        # A quantised V cache works with flash attention only, so it is demanded there.
        params.flash_attn_type = (
            binding.FLASH_ATTN_ENABLED if is_quantised(options.kv_type) else binding.FLASH_ATTN_AUTO
        )
        # A full-size window costs a whole context per sliding layer, so it is off; except with
        # branches: cells that two sequences share are never reused, and the cache would fill up.
        params.swa_full = options.max_branches > 0
        params.no_perf = True
        return params

    def decode(self, batch: Batch) -> None:
        """Decode the batch's rows.

        Raises: `DecodeFailed`, `Interrupted`; part of the rows may then be in the cache: see
        `end`. `WorkerLost`: nothing in the cache can be trusted any more.
        """
        self._check_workers()
        assert 0 < batch.n_rows <= self.options.n_batch, f"{batch.n_rows} rows"
        assert batch.n_logits <= self.options.max_logits, f"{batch.n_logits} rows with logits"
        binding.forget_errors()
        self._n_output_rows = max(self._n_output_rows, batch.n_logits)
        native, began_s = batch.native(), perf_counter()
        rc = self._lib.llama_decode(self._handle, native)
        self.native_s += perf_counter() - began_s
        assert rc != -1, f"llama_decode refused the batch: {binding.error_tail()}"
        if rc == _ABORTED:
            raise Interrupted
        if rc != 0:
            meaning = _DECODE_MEANINGS.get(rc, "unknown")
            raise DecodeFailed(
                f"llama_decode gave {rc} for {batch.n_rows} tokens: {meaning}",
                hint="try a smaller --ctx, or close other programs that use memory",
            )

    def rows(self, n: int) -> npt.NDArray[np.float32]:
        """[n, n_vocab] logits of the last decode, in batch order: native memory, not a copy.

        Raises: `WorkerLost`.
        """
        began_s = perf_counter()
        address = self._logits_of(self._handle)
        self.native_s += perf_counter() - began_s
        self._check_workers()  # after the result is here: a loss is told before anything false is
        assert address, "no logits after a successful decode"
        if address != self._logits_address:  # wrapping it anew takes longer than a step's loop
            pointer = ctypes.cast(address, ctypes.POINTER(ctypes.c_float))
            shape = (self.options.max_logits, self.n_vocab)
            self._logits = np.ctypeslib.as_array(pointer, shape=shape)
            self._logits_address = address
        return self._logits[:n]

    def _check_workers(self) -> None:
        for relay in self._relays:
            relay.check()

    @property
    def output_bytes(self) -> int:
        """Bytes of llama.cpp's buffer for logits.

        It grows to the most rows that a pass gave, which a release build does not log.
        Source: llama.cpp src/llama-context.cpp, llama_context::output_reserve.
        """
        return self._n_output_rows * self.n_vocab * np.dtype(np.float32).itemsize

    def end(self, sequence: int = 0) -> int:
        """Positions [0, end) are what `sequence` holds at its end; 0 when empty."""
        return int(self._lib.llama_memory_seq_pos_max(self._memory, sequence)) + 1

    def start(self, sequence: int = 0) -> int:
        """The first position that every layer still holds (a sliding window drops older ones)."""
        return max(0, int(self._lib.llama_memory_seq_pos_min(self._memory, sequence)))

    def clear(self) -> None:
        """Forget every sequence; never fails. The buffers keep their bytes, the cells are free."""
        self._lib.llama_memory_clear(self._memory, False)

    def remove(self, sequence: int, start: int) -> bool:
        """Drop positions from `start` on; False when the model's memory cannot (see rollback)."""
        return bool(self._lib.llama_memory_seq_rm(self._memory, sequence, start, -1))

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        """Let `target` hold the cells [start, end) of `source` too: metadata only."""
        self._lib.llama_memory_seq_cp(self._memory, source, target, start, end)

    def save_state(self) -> bytes:
        """Sequence 0's recurrent state: what cannot be cut at its end."""
        flags = binding.STATE_PARTIAL_ONLY
        size = self._lib.llama_state_seq_get_size_ext(self._handle, 0, flags)
        buffer = (ctypes.c_uint8 * size)()
        n = self._lib.llama_state_seq_get_data_ext(self._handle, buffer, size, 0, flags)
        if n == 0:
            raise EngineError("llama_state_seq_get_data_ext gave no state")
        return bytes(memoryview(buffer)[:n])

    def load_state(self, state: bytes) -> bool:
        """Put a saved recurrent state back; False when llama.cpp refuses."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        flags = binding.STATE_PARTIAL_ONLY
        n = self._lib.llama_state_seq_set_data_ext(self._handle, buffer, len(state), 0, flags)
        return bool(n)

    def close(self) -> None:
        """Free the native context; idempotent. Logits views die with it."""
        if self._handle:
            self._lib.llama_free(self._handle)
            self._handle = None
