"""What a person asked of the placement: checked, workers connected, ready for the plan."""

from pathlib import Path
from typing import TYPE_CHECKING, get_args

from edgespec.drafters import find
from edgespec.errors import UsageError
from edgespec.plan.types import Asked, DraftWish, KvType, SplitMode

if TYPE_CHECKING:
    from edgespec.api.types import Placing


def wishes(
    loading: "Placing", *, draft: str | Path | None, drafter: str = "auto"
) -> tuple[Asked, tuple[str, ...]]:
    """What the plan must keep to, and the devices of the workers that were named.

    Raises: `UsageError` for a value without a meaning; `EngineError` for a worker that cannot be
    had.
    """
    _check("kv_type", loading.get("kv_type"), get_args(KvType))
    _check("split_mode", loading.get("split_mode"), get_args(SplitMode))
    n_layers = loading.get("n_gpu_layers")
    if n_layers is not None and n_layers < 0:
        raise UsageError(f"{n_layers} layers cannot lie on a GPU", hint="give 0 or more, or none")
    for name in ("devices", "draft_devices"):
        if isinstance(named := loading.get(name), str):  # a text is a sequence of texts too
            raise UsageError(
                f"{name} is one text, but must be a tuple of names", hint=f"{name}=({named!r},)"
            )
    memory_bytes = loading.get("memory_bytes")
    if memory_bytes is not None and memory_bytes <= 0:
        raise UsageError(f"{memory_bytes} bytes of memory hold no model", hint="give more than 0")
    workers = loading.get("rpc")
    connected = () if workers is None else _connected(workers)
    return asked_of(loading, _draft_wish(draft, drafter)), connected


def _connected(workers: str) -> tuple[str, ...]:
    """The devices of workers, in their order. Raises: as `wishes`."""
    from edgespec.engine.rpc.client import connect  # sockets
    from edgespec.engine.rpc.endpoint import endpoints_of

    return tuple(name for worker in endpoints_of(workers) for name in connect(worker))


def asked_of(loading: "Placing", draft: DraftWish) -> Asked:
    """The same for the plan alone, as it was said."""
    devices, draft_devices = loading.get("devices"), loading.get("draft_devices")
    return Asked(
        kv_type=loading.get("kv_type"),
        draft=draft,
        n_gpu_layers=loading.get("n_gpu_layers"),
        devices=None if devices is None else tuple(devices),
        draft_devices=None if draft_devices is None else tuple(draft_devices),
        split_mode=loading.get("split_mode"),
    )


def _draft_wish(draft: str | Path | None, drafter: str) -> DraftWish:
    """A draft model that was named, by itself or by a drafter that needs one, is not given up."""
    if draft is None:
        return "off"
    is_needed = drafter != "auto" and find(drafter).needs_draft_model
    return "required" if draft != "auto" or is_needed else "auto"


def _check(name: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise UsageError(f"{name} cannot be {value!r}", hint=f"one of: {', '.join(known)}")
