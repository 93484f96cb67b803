"""The child of the first-decode guard: decodes a generated model, and may be killed doing so.

Run as `python -m edgespec.engine.first_decode FOLDER extra|plain`. Exit status 0: the decode
worked. Writes its model into FOLDER; the CPU is its only device.
"""

import ctypes
import sys
from pathlib import Path
from typing import Any

from edgespec.engine.binding import lib
from edgespec.engine.threads import default_threads
from edgespec.engine.tiny_model import N_VOCAB, write_tiny_model

BATCH_ROWS = (1, 4, 32)
"""One row and many take different kernels; 32 rows fill the largest tile."""


def decode(folder: Path, *, use_extra_bufts: bool) -> None:
    """Decode batches of `BATCH_ROWS` tokens. Raises: `RuntimeError` when llama.cpp refuses."""
    path = folder / "tiny.gguf"
    write_tiny_model(path)
    native = lib()
    params = native.llama_model_default_params()
    no_device = (ctypes.c_void_p * 1)(None)
    params.devices = ctypes.cast(no_device, ctypes.c_void_p)
    params.n_gpu_layers = 0
    params.use_extra_bufts = use_extra_bufts
    model = native.llama_model_load_from_file(str(path).encode(), params)
    if not model:
        raise RuntimeError("llama_model_load_from_file refused the generated model")
    context = native.llama_init_from_model(model, _context_params(native))
    if not context:
        raise RuntimeError("llama_init_from_model refused the generated model")
    for n_rows in BATCH_ROWS:
        _decode_rows(native, context, n_rows)
    native.llama_free(context)
    native.llama_model_free(model)


def _context_params(native: Any) -> Any:
    params = native.llama_context_default_params()
    params.n_ctx = 128
    params.n_batch = params.n_ubatch = max(BATCH_ROWS)
    params.n_threads = params.n_threads_batch = default_threads()
    params.offload_kqv = params.op_offload = False
    return params


def _decode_rows(native: Any, context: Any, n_rows: int) -> None:
    native.llama_memory_clear(native.llama_get_memory(context), True)
    batch = native.llama_batch_init(n_rows, 0, 1)
    batch.n_tokens = n_rows
    for i in range(n_rows):
        batch.token[i] = i * 7 % N_VOCAB
        batch.pos[i] = i
        batch.n_seq_id[i] = 1
        batch.seq_id[i][0] = 0
        batch.logits[i] = True
    status = native.llama_decode(context, batch)
    if status != 0:
        raise RuntimeError(f"llama_decode returned {status} for {n_rows} rows")
    native.llama_synchronize(context)
    native.llama_batch_free(batch)


if __name__ == "__main__":
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # to die here is no reason for a core file
    decode(Path(sys.argv[1]), use_extra_bufts=sys.argv[2] == "extra")
