"""What Linux's control groups leave to this process: which groups it is in, and its processors.

Works on the texts of /proc and /sys/fs/cgroup, which come through a function, so that any
machine's can be read.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

Read = Callable[[str], str | None]
"""The text of a file by its path, None where it cannot be read."""


def cpu_quota(read: Read) -> float | None:
    """The smallest CPU quota of this process's control group and of those above it."""
    quotas: list[float] = []
    for folder, is_version_2 in groups(read, "cpu"):
        found = (_version_2_quota if is_version_2 else _version_1_quota)(folder, read)
        if found is not None:
            quotas.append(found)
    return min(quotas, default=None)


def groups(read: Read, controller: str) -> Iterator[tuple[PurePosixPath, bool]]:
    """The folders of this process's group and of those above it, and whether each is version 2.

    Both versions are read, because both can be mounted at once. In a container the path in
    /proc/self/cgroup may be the host's, so that the mount's root is taken off its front. Lines that
    are none of Linux's own (emulations write their files as they like) count for nothing.
    """
    paths = dict(_own_groups(read("/proc/self/cgroup") or ""))
    for line in (read("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        where, what = before.split(), after.split()
        if len(where) < 5 or len(what) < 2 or what[0] not in ("cgroup", "cgroup2"):
            continue
        is_version_2 = what[0] == "cgroup2"
        name = "" if is_version_2 else controller
        if name not in paths or (name and name not in what[-1].split(",")):
            continue
        for folder in _folders(PurePosixPath(where[4]), where[3], paths[name]):
            yield folder, is_version_2


def _own_groups(text: str) -> Iterable[tuple[str, str]]:
    """(controller, path) pairs of /proc/self/cgroup; version 2 has the empty controller."""
    for line in text.splitlines():
        _, colon, rest = line.partition(":")
        controllers, second_colon, path = rest.partition(":")
        if colon and second_colon:
            yield from ((controller, path) for controller in controllers.split(","))


def _folders(mount_point: PurePosixPath, root: str, path: str) -> Iterable[PurePosixPath]:
    """The group's folder, then each one above it up to the mount point."""
    group = PurePosixPath(path)
    # Of a group outside the mount's root nothing but the mount point can be seen.
    inside = group.relative_to(root) if group.is_relative_to(root) else PurePosixPath()
    folder = mount_point / inside
    while folder != mount_point:
        yield folder
        folder = folder.parent
    yield mount_point


def _version_2_quota(folder: PurePosixPath, read: Read) -> float | None:
    quota, _, period = (read(f"{folder}/cpu.max") or "max").strip().partition(" ")
    return _ratio(quota, period or "100000")


def _version_1_quota(folder: PurePosixPath, read: Read) -> float | None:
    quota = read(f"{folder}/cpu.cfs_quota_us") or "-1"
    return _ratio(quota, read(f"{folder}/cpu.cfs_period_us") or "100000")


def _ratio(quota: str, period: str) -> float | None:
    """Quota over period; None for "max", for -1 and for what is no number."""
    try:
        return int(quota) / int(period) if int(quota) > 0 else None
    except (ValueError, ZeroDivisionError):
        return None
