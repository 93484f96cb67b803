"""`edgespec worker`: lends this machine's devices to another machine's edgespec."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import THREADS, log_flags
from edgespec.cli.numbers import Whole
from edgespec.cli.placing import names_of, size_bytes
from edgespec.engine.rpc.endpoint import DEFAULT_PORT
from edgespec.errors import UsageError
from edgespec.sizes import gibibytes

if TYPE_CHECKING:
    from edgespec.engine.rpc.worker import Lent

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SPARE = 0.1
"""Share of the free memory that is not lent unless somebody says so."""


@click.command()
@click.option("--host", metavar="HOST", default="127.0.0.1", help="Listen here. Default: loopback.")
@click.option("--port", type=Whole(0, 65_535), metavar="N", default=DEFAULT_PORT,
              help=f"Default: {DEFAULT_PORT}; 0 takes a free one.")  # fmt: skip
@click.option("--device", "device", metavar="NAME,...", help="Default: the GPUs, else the CPU.")
@click.option("--memory", metavar="SIZE", help="Lend so much, e.g. 6G. Default: what is free.")
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads. Default: the cores.")
@click.option("--cache", is_flag=True, help="Keep weights that came, for the next load.")
@log_flags
@click.pass_obj
def worker(
    shared: Shared,
    /,
    host: str,
    port: int,
    device: str | None,
    memory: str | None,
    threads: int | None,
    cache: bool,
) -> None:
    """Lend this machine's devices to another machine's edgespec, until Ctrl-C.

    There, --rpc HOST:PORT takes them. The protocol is llama.cpp's: neither
    encrypted nor authenticated, so listen in a network that you trust only.
    """
    from edgespec.engine.rpc.endpoint import Endpoint
    from edgespec.engine.rpc.worker import Worker

    screen = shared.screen
    lent = _lent(device, memory, threads, cache)
    server = Worker(Endpoint(host, port), lent)
    try:
        if host not in _LOOPBACK:
            screen.note(
                "warning: this protocol is neither encrypted nor authenticated: whoever reaches "
                f"{server.endpoint} can read what is computed here, and make this process crash or "
                "worse; listen in a network that you trust only"
            )
        what = f"{', '.join(lent.devices)} with {gibibytes(lent.limit_bytes)}"
        screen.line(f"lending {what} at {server.endpoint}; Ctrl-C ends it")
        serving = threading.Thread(target=server.serve, args=(screen.note,), daemon=True)
        serving.start()
        # The signals' handlers run on this thread, which therefore waits without blocking them.
        while serving.is_alive():
            serving.join(1.0)
    finally:
        server.close()


def _lent(device: str | None, memory: str | None, threads: int | None, cache: bool) -> "Lent":
    from edgespec import paths
    from edgespec.engine.devices import devices, own_gpus
    from edgespec.engine.rpc.worker import Lent
    from edgespec.engine.threads import default_threads

    here = {d.name: d for d in devices()}
    named = names_of(device) or ()
    for name in named:
        if name not in here:
            raise UsageError(f"there is no device {name!r} here", hint=f"--device {','.join(here)}")
    chosen = named or own_gpus() or ("CPU",)
    cache_dir: Path | None = None
    if cache:
        cache_dir = paths.cache_dir() / "rpc"
        cache_dir.mkdir(parents=True, exist_ok=True)
    free_bytes = sum(here[name].free_bytes for name in chosen if here[name].kind != "CPU")
    if any(here[name].kind == "CPU" for name in chosen):
        free_bytes += _available_bytes()
    limit_bytes = size_bytes(memory) if memory else int(free_bytes * (1 - _SPARE))
    return Lent(chosen, limit_bytes, threads or default_threads(), cache_dir)


def _available_bytes() -> int:
    """Of the machine's own memory, limits of control groups included."""
    from edgespec.hardware.probe import probe

    available = probe().memory.available_bytes
    if not isinstance(available, int):
        raise UsageError(
            f"it is not known how much memory is free ({available.reason})",
            hint="say how much to lend: --memory 4G",
        )
    return available
