"""Memory that was freed and that the C library still holds for itself."""

import ctypes
import sys
from functools import cache
from typing import Any


def give_back() -> int:
    """Return it to the system, in 1 to 15 ms; 1 if there was any, else 0.

    Only glibc keeps much: a large block it maps for itself until the first one is freed, and from
    then on takes others of up to that size (32 MiB at most) from a heap that shrinks at its end
    only. llama.cpp frees 10 MiB of logits buffers while a load measures, and all that is under
    32 MiB when a model is closed.
    """
    trim = _malloc_trim()
    return int(trim(0)) if trim is not None else 0


@cache
def _malloc_trim() -> Any:
    """glibc's function, or None: musl and other systems have none."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
