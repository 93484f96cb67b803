"""A GGUF model in memory: loading with progress and abort, its vocabulary, its sessions."""

import ctypes
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from edgespec.engine import binding, devices
from edgespec.engine.context import ContextOptions, NativeContext, is_about_memory
from edgespec.engine.interrupt import Interrupt
from edgespec.engine.rollback import Replay, Rollback, Snapshot, Trim
from edgespec.engine.rpc.lent import relays
from edgespec.engine.session import LlamaSession
from edgespec.engine.vocab import LlamaVocab
from edgespec.errors import DoesNotFit, EdgespecError, ModelFileError, UsageError
from edgespec.gguf.shape import ModelShape
from edgespec.plan.types import QUANT_BLOCK, KvType, SplitMode, is_quantised

ALL_LAYERS = 999
_MAX_KEY_BYTES = 127  # llama_model_kv_override
NATIVE_SNAPSHOTS = 8
"""States that llama.cpp keeps per sequence for a recurrent model: drafts up to this length roll
back for free, longer ones through a saved state."""
_UNKNOWN = re.compile(r"unknown (?:model )?(architecture|pre-tokenizer)(?: type)?: ('[^']{1,64}')")
_SPLIT_MODES: dict[SplitMode, int] = {"none": 0, "layer": 1, "tensor": 3}


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How the weights are loaded."""

    devices: tuple[str, ...] | None = None
    """The registry's names of the devices that take layers; none: the CPU alone; None: the GPUs of
    this machine."""
    tensor_split: tuple[float, ...] = ()
    """Share of each device; empty: by the memory that is free on them when the load begins."""
    split_mode: SplitMode = "layer"
    """"layer": whole layers; "tensor": each matrix over all devices, where the architecture
    allows it (llama.cpp's own, experimental); "none": the first device alone."""
    n_gpu_layers: int = ALL_LAYERS
    """Layers that go to the devices, from the output layer backwards, that one included."""
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
        reach llama.cpp. Raises: `DoesNotFit`, `ModelFileError`, `UsageError` for devices that are
        not there, `WorkerLost`; what `progress` raises.
        """
        self._lib = binding.lib()
        self.path = path
        self.options = options
        self.devices = devices.own_gpus() if options.devices is None else options.devices
        self.relays = relays(self.devices)
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
        kept_alive = self._place(params, options)
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
        del kept_alive
        if not handle:
            raise self._refusal(binding.error_tail())
        return handle

    def _place(self, params: Any, options: LoadOptions) -> object:
        """Say which device takes what. Gives what must live until the load is over."""
        native_devices = devices.handles(self.devices)
        params.devices = ctypes.cast(native_devices, ctypes.c_void_p)
        params.n_gpu_layers = options.n_gpu_layers
        params.split_mode = _SPLIT_MODES[options.split_mode]
        split = options.tensor_split
        if not split:
            return native_devices
        assert len(split) == len(self.devices), f"{split} for {self.devices}"
        assert min(split) >= 0 < sum(split), f"{split} is no split"
        shares = (ctypes.c_float * self._lib.llama_max_devices())(*split)
        params.tensor_split = ctypes.cast(shares, ctypes.POINTER(ctypes.c_float))
        return native_devices, shares

    def _refusal(self, said: str) -> EdgespecError:
        """Why the load gave nothing."""
        for relay in self.relays:
            relay.check()
        message = f"llama.cpp could not load {self.path.name} ({said or 'no reason given'})"
        if is_about_memory(said):
            return DoesNotFit(message, hint="a smaller model, or fewer layers: --gpu-layers N")
        if unknown := _UNKNOWN.search(said):
            return ModelFileError(
                f"{self.path.name} has the {unknown[1]} {unknown[2]}, which this llama.cpp does not"
                " know",
                hint="a newer llama.cpp may, and comes with a newer edgespec; until then get"
                " another model",
            )
        return ModelFileError(
            message, hint="edgespec doctor shows the llama.cpp build that is in use"
        )

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

        Raises: `DoesNotFit` when its buffers cannot be had, `UsageError` for a type of cache that
        these heads cannot have, `WorkerLost`.
        """
        self._check_cache(options.kv_type)
        if self.is_recurrent:
            # Coupled sequences need attention memory; states are split by sequence (llamacpp.md 2).
            options = replace(options, max_branches=0, n_snapshots=NATIVE_SNAPSHOTS)
            # llama.cpp keeps a snapshot's tokens in one pass, and ends the process where it cannot.
            assert options.n_batch > NATIVE_SNAPSHOTS + 1, f"a batch of {options.n_batch}"
        context = NativeContext(self._handle, options, interrupt, self.relays)
        way: Rollback
        if rollback == "replay":
            way = Replay(context)
        elif self.is_recurrent:
            way = Snapshot(context)
        else:
            way = Trim(context, self.window)
        return LlamaSession(context, way)

    def _check_cache(self, kv_type: KvType) -> None:
        """Refuse a type that llama.cpp would refuse, with a sentence instead of a log line."""
        if self.options.split_mode == "tensor" and is_quantised(kv_type):
            raise UsageError(
                f"a cache of {kv_type} cannot be split by tensors", hint="--kv f16, or bf16"
            )
        if not is_quantised(kv_type):
            return
        arch = self.metadata("general.architecture")
        n_head = int(self._lib.llama_model_n_head(self._handle))
        fallback = int(self._lib.llama_model_n_embd(self._handle)) // n_head if n_head else 0
        for what in ("key_length", "value_length", "key_length_swa", "value_length_swa"):
            n_dim = int(self.metadata(f"{arch}.attention.{what}") or fallback)
            if n_dim % QUANT_BLOCK:
                raise UsageError(
                    f"a cache of {kv_type} packs {QUANT_BLOCK} values at a time, "
                    f"and the heads of {self.path.name} have {n_dim}",
                    hint="--kv f16, or bf16",
                )

    def close(self) -> None:
        """Free the weights; idempotent."""
        if self._handle:
            self._lib.llama_model_free(self._handle)
            self._handle = None
