"""What else went on while a benchmark ran: load, heat, clock, a hypervisor's own business."""

from dataclasses import dataclass
from pathlib import Path

import psutil

from edgespec.bench.facts import load

_CPUS = Path("/sys/devices/system/cpu")
_HOT_C = 90.0
_BUSY = 0.25
_STOLEN = 0.02


@dataclass(frozen=True, slots=True)
class Moment:
    """One look at the machine; None where it does not tell."""

    load: float | None
    temperature_c: float | None
    """Of the hottest sensor."""
    clock_mhz: float | None
    n_throttled: int | None
    """How often the processor slowed itself down for heat, since it was switched on."""
    stolen_s: float | None
    """Processor time that a hypervisor gave to others."""
    busy_s: float
    """Processor time of everything here."""


def look() -> Moment:
    """The machine now."""
    times = psutil.cpu_times()
    clock = psutil.cpu_freq() if hasattr(psutil, "cpu_freq") else None
    return Moment(
        load=load(),
        temperature_c=_hottest_c(),
        clock_mhz=clock.current if clock else None,
        n_throttled=_throttled(),
        stolen_s=getattr(times, "steal", None),
        busy_s=sum(times) - times.idle - getattr(times, "iowait", 0.0),
    )


@dataclass(frozen=True, slots=True)
class Conditions:
    """A benchmark's beginning and end."""

    before: Moment
    after: Moment
    energy: str = ""
    """Why no energy was measured; empty where it was."""

    @property
    def stolen_share(self) -> float | None:
        """Of the processor time used, what a hypervisor gave to others."""
        before, after = self.before, self.after
        if before.stolen_s is None or after.stolen_s is None:
            return None
        used_s = after.busy_s - before.busy_s
        return (after.stolen_s - before.stolen_s) / used_s if used_s > 0 else 0.0

    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures should know, one sentence each."""
        before, after = self.before, self.after
        found = []
        if before.load is not None and after.load is not None:
            busy = ": the machine was busy before it began" if before.load > _BUSY else ""
            found.append(f"load average {before.load:.1f} before, {after.load:.1f} after{busy}")
        if before.temperature_c is not None and after.temperature_c is not None:
            hot = ": hot" if after.temperature_c > _HOT_C else ""
            found.append(
                f"{before.temperature_c:.0f} °C before, {after.temperature_c:.0f} after{hot}"
            )
        if before.n_throttled is not None and after.n_throttled is not None:
            n = after.n_throttled - before.n_throttled
            if n:
                found.append(f"the processor slowed down for heat {n} times")
        stolen = self.stolen_share
        if stolen is not None and stolen > _STOLEN:
            found.append(f"a hypervisor took {stolen:.0%} of the processor time")
        if self.energy:
            found.append(self.energy)
        return tuple(found)


def _hottest_c() -> float | None:
    read = getattr(psutil, "sensors_temperatures", None)
    if read is None:
        return None
    found = [entry.current for entries in read().values() for entry in entries]
    return max(found, default=None)


def _throttled() -> int | None:
    file = _CPUS / "cpu0" / "thermal_throttle" / "package_throttle_count"
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
