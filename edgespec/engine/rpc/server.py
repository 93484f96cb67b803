"""The child of a worker: llama.cpp's own server, on loopback.

It prints, never returns, and ends its process on a request that it does not understand: so it has
a process of its own, which `worker.Worker` watches and starts again.
Run as `python -m edgespec.engine.rpc.server PORT THREADS CACHE DEVICE...`; CACHE empty: none.
"""

import ctypes
import os
import sys
import threading

from edgespec.engine import devices
from edgespec.engine.rpc import client


def serve(port: int, n_threads: int, cache_dir: str, names: list[str]) -> None:
    """Serve one client after the other, for ever; returns only where it cannot listen."""
    start = client.function(
        "ggml_backend_rpc_start_server",
        gives=None,
        takes=(
            ctypes.c_char_p,
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_size_t,
            ctypes.c_void_p,
        ),
    )
    lent = devices.handles(names, kinds=("CPU", "GPU", "IGPU", "ACCEL"))
    start(
        f"127.0.0.1:{port}".encode(),
        os.fsencode(cache_dir) if cache_dir else None,
        n_threads,
        len(names),
        ctypes.cast(lent, ctypes.c_void_p),
    )


def _end_with_parent() -> None:
    """The parent holds our stdin: its end is the parent's, however that ended."""
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
    sys.exit("llama.cpp's RPC server could not listen")
