"""Energy that the processor reports: RAPL's counters, where the system lets us read them."""

from collections.abc import Callable
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")


class Rapl:
    """Joules of all packages since the first reading; wrap-arounds are taken out."""

    def __init__(self, folder: Path = POWERCAP) -> None:
        # "intel-rapl:0" is a package; "intel-rapl:0:1" a part of it, which it contains already.
        zones = sorted(folder.glob("*-rapl:*")) if folder.is_dir() else []
        packages = [zone for zone in zones if zone.name.count(":") == 1 and not _is_platform(zone)]
        self._counters = [zone / "energy_uj" for zone in packages]
        self._ranges = [_number(zone / "max_energy_range_uj") or 0 for zone in packages]
        self._last = [_number(counter) for counter in self._counters]
        self._total_uj = 0

    @property
    def reason(self) -> str:
        """Why there is no energy to report; empty when there is."""
        if not self._counters:
            return "this machine reports no energy (no RAPL counters)"
        if None in self._last:
            return "the energy counters may be read by root only"
        return ""

    def __call__(self) -> float | None:
        """Joules so far; None where they cannot be read."""
        if self.reason:
            return None
        for i, counter in enumerate(self._counters):
            now, last = _number(counter), self._last[i]
            if now is None or last is None:
                return None
            self._total_uj += now - last + (self._ranges[i] if now < last else 0)
            self._last[i] = now
        return self._total_uj / 1e6


Energy = Callable[[], float | None]
"""Joules so far; None where nobody tells."""


def unmeasured() -> None:
    """An `Energy` of which nothing is known."""


def spent_j(before_j: float | None, after_j: float | None) -> float | None:
    """What was used between two readings; None unless both are known."""
    return None if before_j is None or after_j is None else after_j - before_j


def _is_platform(zone: Path) -> bool:
    """Whether it is the whole machine's, which contains the packages."""
    try:
        return (zone / "name").read_text(encoding="ascii").strip() == "psys"
    except (OSError, ValueError):
        return False


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
