"""The ways in: `load`, and `aload` for asyncio.

Importing this costs nothing: numpy and llama.cpp come on the thread that loads, so that a window
can open, and show the progress, while they do.
"""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from edgespec.api.types import Loading
from edgespec.errors import Interrupted

if TYPE_CHECKING:
    from edgespec.api.model import LoadedModel


def load(target: str | Path, **loading: Unpack[Loading]) -> "LoadedModel":
    """Load a target by name (`edgespec models`) or path of a GGUF file; nothing is downloaded.

    All else by keyword, and none of it needed; `edgespec.Loading` says more of each:

    draft: a draft model, "auto" for the catalogue's, None for none
    drafter: how to draft: "auto" for what pays, "none", or the name of one
    draft_vocab: "same", or "intersect" for a draft model of another vocabulary
    n_ctx, n_threads: tokens of context, threads that compute
    progress: called on the loading thread with a sentence and a share of 1; may raise to give up
    template: a jinja chat template in place of the model's
    index: which index of the user's texts to draft from, "off" for none
    measure: False to spend no seconds on measuring this machine
    memory_bytes, kv_type, n_gpu_layers, devices, draft_devices, split_mode, rpc: where it goes

    Close the model, or use it in a `with` block (`async with await aload(...)`).
    Raises: an `EdgespecError`, before more is loaded than it takes to know; what `progress` raises.
    """
    from edgespec.api.model import load as load_here  # a second that no window should wait for

    return load_here(target, **loading)


async def aload(target: str | Path, **loading: Unpack[Loading]) -> "LoadedModel":
    """`load` on a thread of its own, for asyncio; cancelling gives up and frees what was loaded.

    `progress` is called on that thread: `loop.call_soon_threadsafe` brings it to the loop's.
    """
    import asyncio  # 3 MB and 40 ms that only its users pay

    is_cancelled = threading.Event()
    progress = loading.get("progress")

    def tell(phase: str, fraction: float) -> None:
        if is_cancelled.is_set():
            raise Interrupted
        if progress is not None:
            progress(phase, fraction)

    def run() -> "LoadedModel":
        told: Loading = {**loading, "progress": tell}
        model = load(target, **told)
        if is_cancelled.is_set():  # too late for `tell`, and nobody will take it
            model.close()
        return model

    try:
        return await asyncio.to_thread(run)
    except asyncio.CancelledError:
        is_cancelled.set()
        raise
