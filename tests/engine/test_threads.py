import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from edgespec.engine.cpu_quota import Read, cpu_quota
from edgespec.engine.threads import Cores, cores, default_threads, physical_cores, set_wait_policy

V2_MOUNT = "31 24 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNT = "32 31 0:29 {root} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"


def reader(texts: Mapping[str, str]) -> Read:
    return texts.get


def siblings(*lists: str) -> dict[str, str]:
    return {
        f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": f"{text}\n"
        for cpu, text in enumerate(lists)
    }


def no_count() -> None:
    return None


def test_quota_is_none_when_nothing_can_be_read() -> None:
    quota = cpu_quota(reader({}))

    assert quota is None


def test_quota_is_none_when_version_2_says_max() -> None:
    texts = {
        "/proc/self/cgroup": "0::/app\n",
        "/proc/self/mountinfo": V2_MOUNT,
        "/sys/fs/cgroup/app/cpu.max": "max 100000\n",
    }

    quota = cpu_quota(reader(texts))

    assert quota is None


def test_quota_is_the_smallest_of_nested_version_2_groups() -> None:
    texts = {
        "/proc/self/cgroup": "0::/slice/app/worker\n",
        "/proc/self/mountinfo": V2_MOUNT,
        "/sys/fs/cgroup/slice/app/worker/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/slice/app/cpu.max": "250000 100000\n",
        "/sys/fs/cgroup/slice/cpu.max": "800000 100000\n",
    }

    quota = cpu_quota(reader(texts))

    assert quota == 2.5


@pytest.mark.parametrize(
    "odd", ["", "odd", "1:cpu", "30 23 0:26 /", "x - ", " - cgroup2 cgroup rw"]
)
def test_quota_is_read_beside_lines_that_are_none_of_linuxs(odd: str) -> None:
    texts = {
        "/proc/self/cgroup": f"{odd}\n0::/\n",
        "/proc/self/mountinfo": f"{odd}\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
        "/sys/fs/cgroup/cpu.max": "150000 100000",
    }

    quota = cpu_quota(reader(texts))

    assert quota == 1.5


def test_quota_reads_version_1_and_its_groups_above() -> None:
    texts = {
        "/proc/self/cgroup": "5:cpuset:/\n4:cpu,cpuacct:/jobs/7\n",
        "/proc/self/mountinfo": V1_MOUNT.format(root="/"),
        "/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us": "-1\n",
        "/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us": "150000\n",
        "/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us": "50000\n",
    }

    quota = cpu_quota(reader(texts))

    assert quota == 3.0


def test_quota_takes_the_mount_root_off_when_the_path_is_the_hosts() -> None:
    texts = {
        "/proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n",
        "/proc/self/mountinfo": V1_MOUNT.format(root="/docker/abc"),
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    }

    quota = cpu_quota(reader(texts))

    assert quota == 2.0


def test_quota_is_the_smaller_when_both_versions_are_mounted() -> None:
    texts = {
        "/proc/self/cgroup": "1:cpu:/a\n0::/b\n",
        "/proc/self/mountinfo": V1_MOUNT.format(root="/") + V2_MOUNT,
        "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "400000\n",
        "/sys/fs/cgroup/b/cpu.max": "100000 100000\n",
    }

    quota = cpu_quota(reader(texts))

    assert quota == 1.0


def test_physical_cores_counts_hyper_threads_once() -> None:
    texts = siblings("0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7")

    count = physical_cores(range(8), reader(texts), no_count)

    assert count == 4


def test_physical_cores_counts_only_cores_within_the_affinity() -> None:
    texts = siblings("0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7")

    count = physical_cores({0, 4, 1}, reader(texts), no_count)

    assert count == 2


def test_physical_cores_leaves_efficiency_cores_out() -> None:
    texts = siblings("0-1", "0-1", "2", "3", "4") | {"/sys/devices/cpu_core/cpus": "0-1\n"}

    count = physical_cores(range(5), reader(texts), no_count)

    assert count == 1


def test_physical_cores_uses_efficiency_cores_when_there_are_no_others() -> None:
    texts = siblings("0-1", "0-1", "2", "3", "4") | {"/sys/devices/cpu_core/cpus": "0-1\n"}

    count = physical_cores({2, 3}, reader(texts), no_count)

    assert count == 2


def test_physical_cores_falls_back_to_the_machines_count() -> None:
    count = physical_cores(range(8), reader({}), lambda: 4)

    assert count == 4


def test_physical_cores_falls_back_to_the_affinity_when_nothing_is_known() -> None:
    count = physical_cores(range(3), reader({}), no_count)

    assert count == 3


@pytest.mark.parametrize(
    ("found", "usable"),
    [
        (Cores(physical=4, logical=8, quota=None), 4),
        (Cores(physical=4, logical=2, quota=None), 2),
        (Cores(physical=4, logical=8, quota=2.9), 2),
        (Cores(physical=4, logical=8, quota=0.5), 1),
    ],
)
def test_usable_is_the_smallest_limit_but_at_least_one(found: Cores, usable: int) -> None:
    assert found.usable == usable


def test_default_threads_is_within_every_limit_of_this_machine() -> None:
    found = cores()

    threads = default_threads()

    assert 1 <= threads <= min(found.physical, found.logical)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_default_threads_is_one_when_pinned_to_one_processor() -> None:
    code = (
        "import os; from edgespec.engine.threads import default_threads;"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(default_threads())"
    )

    child = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )

    assert child.stdout.strip() == "1"


def test_wait_policy_is_passive_when_nobody_chose() -> None:
    environ = {"PATH": "/bin"}

    set_wait_policy(environ)

    assert environ == {"PATH": "/bin", "OMP_WAIT_POLICY": "passive"}


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_wait_policy_is_left_alone_when_the_user_chose(name: str) -> None:
    environ = {name: "7"}

    set_wait_policy(environ)

    assert environ == {name: "7"}


def test_wait_policy_imports_neither_numpy_nor_psutil() -> None:
    code = (
        "import sys, os; from edgespec.engine.threads import set_wait_policy;"
        "set_wait_policy(os.environ); print([m for m in ('numpy', 'psutil') if m in sys.modules])"
    )

    child = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )

    assert child.stdout.strip() == "[]"
