"""The flags that say where models go: devices, workers, layers, caches, memory.

Imports nothing heavy. `placing_flags` gives them to a command, `loading_of` turns what was said
into keywords of `edgespec.load`.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from edgespec.cli.numbers import Whole
from edgespec.errors import UsageError
from edgespec.plan.kinds import KvType, SplitMode

if TYPE_CHECKING:
    from edgespec.api.types import Placing

F = TypeVar("F", bound=Callable[..., Any])

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([MG])(?:i?B)?", re.IGNORECASE)
_UNITS = {"M": 2**20, "G": 2**30}


def size_bytes(text: str) -> int:
    """An amount of memory such as "6G" or "512M", in powers of 1024. Raises: `UsageError`."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or float(found[1]) == 0:
        raise UsageError(f"{text!r} is no amount of memory", hint="for example 6G, or 512M")
    return int(float(found[1]) * _UNITS[found[2].upper()])


PLACING = (
    click.option("--kv", type=click.Choice(get_args(KvType)), help="Type of the cache."),
    click.option("--gpu-layers", type=Whole(0), metavar="N",
                 help="Layers on GPUs. Default: what fits."),
    click.option("--device", metavar="NAME,...", help="Devices for the target."),
    click.option("--draft-device", metavar="NAME,...", help="Devices for the draft model."),
    click.option("--split-mode", type=click.Choice(get_args(SplitMode)),
                 help="How devices share the target."),
    click.option("--rpc", metavar="HOST:PORT,...", help="Take in what edgespec worker lends."),
    click.option("--memory", metavar="SIZE", help="Take no more of this machine's, e.g. 6G."),
)  # fmt: skip
"""In reading order."""
PLACING_NAMES = ("kv", "gpu_layers", "device", "draft_device", "split_mode", "rpc", "memory")
"""By which a command gets them."""


def placing_flags(function: F) -> F:
    """Give a command these flags; it gets them by the names that `loading_of` reads."""
    for option in reversed(PLACING):
        function = option(function)
    return function


def loading_of(given: Mapping[str, Any]) -> "Placing":
    """What was said, as keywords of `edgespec.load`; nothing for what was not said.

    Raises: `UsageError`.
    """
    memory = given["memory"]
    said: dict[str, Any] = {
        "kv_type": given["kv"],
        "n_gpu_layers": given["gpu_layers"],
        "devices": names_of(given["device"]),
        "draft_devices": names_of(given["draft_device"]),
        "split_mode": given["split_mode"],
        "rpc": given["rpc"],
        "memory_bytes": None if memory is None else size_bytes(memory),
    }
    said = {name: value for name, value in said.items() if value is not None}
    return said  # type: ignore[return-value]  # the names are Placing's


def names_of(text: str | None) -> tuple[str, ...] | None:
    """The names in "A,B"; None where nothing was said."""
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())
