"""A flag that makes llama.cpp give up a running pass, from any thread, without Python in the way.

llama.cpp asks an abort callback before every graph node; a Python one would fetch the interpreter
lock thousands of times per pass. `strlen` has the callback's shape and is native: over a buffer
that begins with a zero byte it says 0 (go on), over one that does not it says 1 (abort).
Backends without abort callbacks (most GPUs) finish the pass, which is short there.
"""

import ctypes
import sys
from typing import Any

from edgespec.engine import binding


class Interrupt:
    """Shared by a model's contexts; must outlive them."""

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(2)
        library = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
        self._strlen = ctypes.cast(library.strlen, binding.lib().ggml_abort_callback)

    def install(self, context: Any) -> None:
        """Let passes of a native context heed this flag."""
        address = ctypes.cast(self._buffer, ctypes.c_void_p)
        binding.lib().llama_set_abort_callback(context, self._strlen, address)

    @property
    def is_set(self) -> bool:
        """Passes give up at once."""
        return self._buffer.raw[0] != 0

    def set(self) -> None:
        """Give up the running pass and every later one."""
        self._buffer[0] = b"\x01"

    def clear(self) -> None:
        """Let passes run again."""
        self._buffer[0] = b"\x00"
