"""Registers workers as devices of this process, each behind its relay."""

import ctypes
import logging
import threading
from collections.abc import Sequence
from typing import Any, Final

from edgespec.engine import binding
from edgespec.engine.rpc.endpoint import Endpoint
from edgespec.engine.rpc.greeting import greet
from edgespec.engine.rpc.lent import behind, remember
from edgespec.engine.rpc.relay import Relay
from edgespec.errors import EngineError
from edgespec.sizes import gibibytes

_log = logging.getLogger(__name__)

BUILD_COMMAND: Final = (
    "CMAKE_ARGS=-DGGML_RPC=on CC=clang CXX=clang++ pip install --force-reinstall --no-deps "
    f"--no-cache-dir --no-binary llama-cpp-python llama-cpp-python=={binding.TESTED_VERSION}"
)
"""Builds what workers need; without --no-cache-dir pip would take an older build's wheel."""

_lock = threading.Lock()


def connect(worker: Endpoint) -> tuple[str, ...]:
    """The names of the worker's devices in the registry, registered if they are not yet.

    Raises: `EngineError` where the build has no RPC backend, the worker cannot be reached, or it
    speaks another protocol: each of them would end the process inside llama.cpp.
    """
    registry = _registry()
    with _lock:
        for relay, names in behind(worker).items():
            if not relay.is_used:  # else a second connection would wait for the first to end
                greet(worker)
            return names
        lent = greet(worker)
        if not lent:
            raise EngineError(f"the worker {worker} lends no device")
        free = ", ".join(gibibytes(memory.free_bytes) for memory in lent)
        _log.info("the worker %s lends %s", worker, free)
        return _registered(registry, Relay(worker))


def check_build() -> None:
    """Raises: `EngineError` where this llama.cpp was built without workers."""
    _registry()


def function(name: str, *, gives: Any, takes: Sequence[Any]) -> Any:
    """A function of the RPC backend. Raises: `EngineError` where the build has none."""
    ggml, registry = binding.ggml(), _registry()
    address = ggml.ggml_backend_reg_get_proc_address(registry, name.encode())
    assert address, f"the RPC backend has no {name}"
    return ctypes.CFUNCTYPE(gives, *takes)(address)


def _registry() -> Any:
    found = binding.ggml().ggml_backend_reg_by_name(b"RPC")
    if not found:
        raise EngineError(
            "this llama.cpp was built without its RPC backend, which workers need",
            hint=BUILD_COMMAND,
        )
    return found


def _registered(registry: Any, relay: Relay) -> tuple[str, ...]:
    ggml = binding.ggml()
    add = function("ggml_backend_rpc_add_server", gives=ctypes.c_void_p, takes=(ctypes.c_char_p,))
    server = add(str(relay.endpoint).encode())
    relay.check()
    assert server, "a worker with devices was not taken"
    ggml.ggml_backend_register(server)
    at = [
        ggml.ggml_backend_reg_dev_get(server, i)
        for i in range(ggml.ggml_backend_reg_dev_count(server))
    ]
    names = tuple(ggml.ggml_backend_dev_name(device).decode() for device in at)
    remember(names, relay)
    return names
