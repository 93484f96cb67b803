"""The only importer of llama_cpp: the native library, its log, and what upstream left unbound.

Low-level API only: `llama_cpp.Llama` is no base, it keeps n_ctx × n_vocab scores and ignores
refused removals.
"""

import ctypes
import functools
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from edgespec.engine.alone import import_alone
from edgespec.engine.threads import set_wait_policy
from edgespec.errors import EngineError

TESTED_VERSION: Final = "0.3.36"
STATE_PARTIAL_ONLY: Final = 1  # llama.h LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
FLASH_ATTN_AUTO: Final = -1
FLASH_ATTN_ENABLED: Final = 1

_log = logging.getLogger("edgespec.llama")


@functools.cache
def lib() -> Any:
    """The module `llama_cpp.llama_cpp`, loaded once: wait policy before, log bridge after.

    Raises: `EngineError` when the package is missing, of another version, or cannot be loaded.
    """
    native = _modules()[0]
    native.llama_log_set(_bridge(native), ctypes.c_void_p(0))
    native.llama_backend_init()
    return native


@functools.cache
def _modules() -> tuple[Any, Any]:
    """`llama_cpp.llama_cpp` and `llama_cpp._ggml`; the package's front would import jinja2 and
    numpy too, which planning does not need: 0.15 s.

    Raises: as `lib`.
    """
    set_wait_policy()
    hint = f"pip install llama-cpp-python=={TESTED_VERSION}"
    try:
        native, ggml = import_alone("llama_cpp", ("llama_cpp", "_ggml"))
    except (ImportError, OSError, RuntimeError) as error:
        what = f"llama-cpp-python could not be loaded: {error}"
        raise EngineError(what, hint=hint) from error
    version = _version(Path(native.__file__ or "").with_name("__init__.py"))
    if version != TESTED_VERSION:
        # The ctypes structures must match the native ones byte for byte: no other version is safe.
        raise EngineError(
            f"llama-cpp-python {version} is installed, but edgespec was tested with "
            f"{TESTED_VERSION} only",
            hint=hint,
        )
    return native, ggml


def _version(front: Path) -> str:
    """What a package's `__init__.py` calls its version."""
    found = re.search(r"^__version__ = ['\"](.+?)['\"]", front.read_text(encoding="utf-8"), re.M)
    return found[1] if found else "of an unknown version"


@functools.cache
def logits_address() -> Any:
    """`llama_get_logits`, giving a number: a pointer would be three objects a step."""
    found = lib()._lib["llama_get_logits"]  # by index: one that nobody else configures
    found.argtypes, found.restype = (ctypes.c_void_p,), ctypes.c_void_p
    return found


def error_tail() -> str:
    """The last error that llama.cpp logged on this thread since `forget_errors`; or empty."""
    return getattr(_watch, "last_error", "")


def forget_errors() -> None:
    """Start a new watch for `error_tail`."""
    _watch.last_error = ""


@contextmanager
def heard() -> Iterator[list[str]]:
    """What llama.cpp logs on this thread within the block, line by line, whatever is shown."""
    lines: list[str] = []
    before = getattr(_watch, "lines", None)
    _watch.lines = lines
    try:
        yield lines
    finally:
        _watch.lines = before


_watch = threading.local()


_ECHO: Final = "failed to load model"
"""Ends the error that llama.cpp logs after the one that says why."""


class _LogLines:
    """Joins the fragments that llama.cpp logs into lines; called from any native thread."""

    _levels: Final = {1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR}

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending = ""
        self._level = logging.DEBUG

    def feed(self, level: int, text: bytes) -> None:
        with self._lock:
            self._level = self._levels.get(level, self._level)  # 5 continues the line before
            self._pending += text.decode("utf-8", "replace")
            *lines, self._pending = self._pending.split("\n")
            level_now = self._level
        heard_here = getattr(_watch, "lines", None)
        if heard_here is not None:
            heard_here += lines
        for line in lines:
            if level_now == logging.ERROR and line.strip() and not line.endswith(_ECHO):
                _watch.last_error = line.strip()
            # Native warnings are about what edgespec decided on purpose (a short context, a full
            # window): worth a debug line, not a person's attention.
            _log.log(min(level_now, logging.INFO), "%s", line)


_kept_alive: list[object] = []  # ctypes does not keep a callback that C holds


def _bridge(native: Any) -> Any:
    lines = _LogLines()

    @native.llama_log_callback  # type: ignore[untyped-decorator]
    def on_log(level: int, text: bytes, _: object) -> None:
        lines.feed(level, text)

    _kept_alive.append(on_log)
    return on_log


@functools.cache
def ggml() -> Any:
    """The ggml library handle, for the backend registry functions that llama_cpp leaves unbound."""
    lib()
    libggml = _modules()[1].libggml
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    sizes = ctypes.POINTER(size)
    signatures: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "dev_count": (size, ()),
        "dev_get": (pointer, (size,)),
        "dev_name": (text, (pointer,)),
        "dev_description": (text, (pointer,)),
        "dev_type": (ctypes.c_int, (pointer,)),
        "dev_memory": (None, (pointer, sizes, sizes)),
        "register": (None, (pointer,)),
        "reg_by_name": (pointer, (text,)),
        "reg_get_proc_address": (pointer, (pointer, text)),
        "reg_dev_count": (size, (pointer,)),
        "reg_dev_get": (pointer, (pointer, size)),
    }
    for name, (gives, takes) in signatures.items():
        function = getattr(libggml, f"ggml_backend_{name}")
        function.restype, function.argtypes = gives, takes
    return libggml
