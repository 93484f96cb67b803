"""Which devices of llama.cpp's registry are workers', and whether those are still there.

Asked for every device of every plan: opens no connection and needs no sockets.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgespec.engine.rpc.endpoint import Endpoint
    from edgespec.engine.rpc.relay import Relay

_relays: dict[str, "Relay"] = {}
"""By device name. Devices of llama.cpp's registry are there for good."""


def remember(devices: Sequence[str], relay: "Relay") -> None:
    """These devices of the registry are the worker's behind `relay`."""
    _relays.update(dict.fromkeys(devices, relay))


def behind(worker: "Endpoint") -> dict["Relay", tuple[str, ...]]:
    """The relays to a worker that are not lost, with the devices behind each."""
    found = {r for r in _relays.values() if r.worker == worker and not r.is_lost}
    return {relay: tuple(name for name, at in _relays.items() if at is relay) for relay in found}


def relays(devices: Sequence[str]) -> tuple["Relay", ...]:
    """The relays behind these devices; local devices have none."""
    return tuple(dict.fromkeys(_relays[name] for name in devices if name in _relays))


def worker_of(device: str) -> "Endpoint | None":
    """Where a device of the registry really is; None: here."""
    relay = _relays.get(device)
    return relay.worker if relay else None


def device_at(endpoint: str, index: int) -> str | None:
    """The registry's name of a relay's device, by the relay's endpoint and the device's number."""
    names = [name for name, relay in _relays.items() if str(relay.endpoint) == endpoint]
    return names[index] if index < len(names) else None


def is_lost(device: str) -> bool:
    """Whether a device of the registry was a worker's that is gone: it is listed, but not there."""
    return device in _relays and _relays[device].is_lost
