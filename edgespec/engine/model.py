"""A GGUF model in memory: loading with progress and abort, its vocabulary, its sessions."""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from edgespec.engine import binding
from edgespec.engine.context import ContextOptions, NativeContext
from edgespec.engine.interrupt import Interrupt
from edgespec.engine.rollback import Replay, Rollback, Snapshot, Trim
from edgespec.engine.session import LlamaSession
from edgespec.engine.vocab import LlamaVocab
from edgespec.errors import ModelFileError
from edgespec.gguf.shape import ModelShape

ALL_LAYERS = 999
_MAX_KEY_BYTES = 127  # llama_model_kv_override
NATIVE_SNAPSHOTS = 8
"""States that llama.cpp keeps per sequence for a recurrent model: drafts up to this length roll
back for free, longer ones through a saved state."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How the weights are loaded."""

    n_gpu_layers: int = ALL_LAYERS
    use_extra_bufts: bool = True
    """Repacked weights and AMX: faster, and deadly with a miscompiled build (engine/guard.py)."""
    ids_of: ModelShape | None = None
    """The file's shape, for a model that is spoken to in token ids only: llama.cpp then reads no
    token texts and merges, which take 33 MiB and 0.3 s at 151,936 tokens; `vocab` is not there."""


class Model:
    """Owns the native weights. `close` frees them; its sessions must be closed before."""

    def __init__(
        self,
        path: Path,
        options: LoadOptions = LoadOptions(),
        progress: Callable[[float], None] = lambda fraction: None,
    ) -> None:
        """Load the file; `progress(fraction)` hears how far it is, and may raise to abort.

        The header must have been read before (`gguf.header.read_header`): a damaged file does not
        reach llama.cpp. Raises: `ModelFileError`; what `progress` raises.
        """
        self._lib = binding.lib()
        self.path = path
        self._handle = self._load(path, options, progress)
        self._vocab: LlamaVocab | None = None
        if options.ids_of is None:
            self._vocab = LlamaVocab(self._lib.llama_model_get_vocab(self._handle))
        self.n_ctx_train = int(self._lib.llama_model_n_ctx_train(self._handle))
        self.window = int(self._lib.llama_model_n_swa(self._handle))
        self.is_recurrent = bool(
            self._lib.llama_model_is_recurrent(self._handle)
            or self._lib.llama_model_is_hybrid(self._handle)
        )

    def _load(self, path: Path, options: LoadOptions, progress: Callable[[float], None]) -> Any:
        params = self._lib.llama_model_default_params()
        params.n_gpu_layers = options.n_gpu_layers
        params.use_extra_bufts = options.use_extra_bufts
        if options.ids_of is not None:
            params.kv_overrides = self._without_texts(options.ids_of)
        aborts: list[BaseException] = []

        @self._lib.llama_progress_callback  # type: ignore[untyped-decorator]
        def on_progress(fraction: float, _: object) -> bool:
            try:
                progress(fraction)
            except BaseException as abort:  # C code is in between: it is raised again behind it
                aborts.append(abort)
            return not aborts

        params.progress_callback = on_progress
        binding.forget_errors()
        handle = self._lib.llama_model_load_from_file(os.fsencode(path), params)
        if aborts:
            if handle:
                self._lib.llama_model_free(handle)
            raise aborts[0]
        if not handle:
            raise ModelFileError(
                f"llama.cpp could not load {path.name}"
                f" ({binding.error_tail() or 'no reason given'})",
                hint="edgespec doctor shows the llama.cpp build that is in use",
            )
        return handle

    def _without_texts(self, shape: ModelShape) -> Any:
        """Overrides that make the vocabulary one of ids: a C array, ended by an empty key."""
        overrides = (self._lib.llama_model_kv_override * 3)()
        kind, size = overrides[0], overrides[1]
        kind.key, kind.tag = b"tokenizer.ggml.model", self._lib.LLAMA_KV_OVERRIDE_TYPE_STR
        kind.value.val_str = b"none"
        # The field ends a longer name; llama.cpp knows no architecture with one, and says so.
        size.key = f"{shape.architecture}.vocab_size".encode()[:_MAX_KEY_BYTES]
        size.tag = self._lib.LLAMA_KV_OVERRIDE_TYPE_INT
        size.value.val_i64 = shape.n_vocab
        return overrides

    @property
    def vocab(self) -> LlamaVocab:
        """The tokenizer; a model loaded for its ids only has none."""
        assert self._vocab is not None, f"{self.path.name} was loaded without its texts"
        return self._vocab

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors."""
        return int(self._lib.llama_model_size(self._handle))

    def metadata(self, key: str) -> str | None:
        """A scalar metadata value as text, of any length; None when absent."""
        raw_key = key.encode()
        n = self._lib.llama_model_meta_val_str(self._handle, raw_key, None, 0)
        if n < 0:
            return None
        buffer = ctypes.create_string_buffer(n + 1)
        self._lib.llama_model_meta_val_str(self._handle, raw_key, buffer, n + 1)
        return buffer.raw[:n].decode("utf-8", "replace")

    def new_session(
        self,
        options: ContextOptions,
        interrupt: Interrupt | None = None,
        *,
        rollback: Literal["auto", "replay"] = "auto",
    ) -> LlamaSession:
        """A cache of its own for this model. The caller closes it.

        Raises: `DoesNotFit` when its buffers cannot be had.
        """
        if self.is_recurrent:
            # Coupled sequences need attention memory; states are split by sequence (llamacpp.md 2).
            options = replace(options, max_branches=0, n_snapshots=NATIVE_SNAPSHOTS)
        context = NativeContext(self._handle, options, interrupt)
        way: Rollback
        if rollback == "replay":
            way = Replay(context)
        elif self.is_recurrent:
            way = Snapshot(context)
        else:
            way = Trim(context, self.window)
        return LlamaSession(context, way)

    def close(self) -> None:
        """Free the weights; idempotent."""
        if self._handle:
            self._lib.llama_model_free(self._handle)
            self._handle = None
