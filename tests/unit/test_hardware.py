"""The readers on other machines' texts: limits of memory, processors, devices, the table."""

import pytest

from edgespec.engine.devices import Device as Reported
from edgespec.engine.threads import Cores
from edgespec.errors import UsageError
from edgespec.hardware.cpu import features_of, instructions_of, read_cpu
from edgespec.hardware.gpu import read_devices, read_driver
from edgespec.hardware.machines import CARDS, GIB, machine
from edgespec.hardware.memory import linux_memory, read_memory
from edgespec.hardware.types import Unknown

WHOLE = (64 * GIB, 48 * GIB)
V2 = {
    "/proc/self/cgroup": "0::/user.slice/box\n",
    "/proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "/sys/fs/cgroup/user.slice/box/memory.max": f"{8 * GIB}\n",
    "/sys/fs/cgroup/user.slice/box/memory.current": f"{5 * GIB}\n",
    "/sys/fs/cgroup/user.slice/box/memory.stat": (
        f"anon {2 * GIB}\ninactive_file {GIB}\nactive_file {2 * GIB}\n"
    ),
}
V1 = {
    "/proc/self/cgroup": "4:memory:/box\n0::/\n",
    "/proc/self/mountinfo": "31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
    "/sys/fs/cgroup/memory/box/memory.limit_in_bytes": f"{4 * GIB}\n",
    "/sys/fs/cgroup/memory/box/memory.usage_in_bytes": f"{GIB}\n",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
}
NO_FILES: dict[str, str] = {}
CORES = Cores(physical=4, logical=8, quota=2.5)


def test_memory_is_the_systems_where_nothing_limits_it() -> None:
    memory = read_memory(NO_FILES.get, lambda: WHOLE, -1)

    assert (memory.total_bytes, memory.available_bytes, memory.limit) == (*WHOLE, "")


def test_linux_tells_its_memory_itself() -> None:
    text = (
        "MemTotal:       24689836 kB\nMemFree:         1 kB\nMemAvailable:   20000000 kB\n\nodd\n"
    )

    assert linux_memory({"/proc/meminfo": text}.get) == (24_689_836 * 1024, 20_000_000 * 1024)


@pytest.mark.parametrize("text", ["", "MemTotal: 5 kB\n", "MemTotal: much\nMemAvailable: 1 kB\n"])
def test_memory_that_linux_does_not_tell_is_asked_for_elsewhere(text: str) -> None:
    assert linux_memory({"/proc/meminfo": text}.get) is None


def test_memory_is_what_a_control_group_leaves_with_its_file_pages_given_back() -> None:
    memory = read_memory(V2.get, lambda: WHOLE, -1)

    assert memory.total_bytes == 8 * GIB
    assert memory.available_bytes == 6 * GIB
    assert "memory.max" in memory.limit


def test_memory_knows_the_older_control_groups_and_their_absence_of_a_limit() -> None:
    memory = read_memory(V1.get, lambda: WHOLE, -1)

    assert memory.available_bytes == 3 * GIB
    assert "limit_in_bytes" in memory.limit


def test_memory_is_limited_by_a_group_above() -> None:
    texts = V2 | {
        "/sys/fs/cgroup/user.slice/memory.max": f"{GIB}\n",
        "/sys/fs/cgroup/user.slice/memory.current": "0\n",
    }

    memory = read_memory(texts.get, lambda: WHOLE, -1)

    assert memory.available_bytes == GIB


def test_memory_is_limited_by_the_address_space() -> None:
    texts = {"/proc/self/status": "Name:\tpython\nVmSize:\t 1048576 kB\n"}

    memory = read_memory(texts.get, lambda: WHOLE, 3 * GIB)

    assert memory.available_bytes == 2 * GIB
    assert memory.limit == "ulimit -v"


def test_full_group_leaves_nothing_and_no_less() -> None:
    texts = V2 | {"/sys/fs/cgroup/user.slice/box/memory.current": f"{20 * GIB}\n"}

    assert read_memory(texts.get, lambda: WHOLE, -1).available_bytes == 0


@pytest.mark.parametrize("text", ["", "garbage\n", "0::\n", ":::\n"])
def test_memory_survives_odd_texts_of_the_kernel(text: str) -> None:
    texts = dict.fromkeys(V2, text)

    memory = read_memory(texts.get, lambda: WHOLE, -1)

    assert memory.available_bytes == WHOLE[1]


def test_memory_says_why_it_is_unknown() -> None:
    def silent() -> tuple[int, int]:
        raise OSError("no such call")

    memory = read_memory(NO_FILES.get, silent, -1)

    assert isinstance(memory.available_bytes, Unknown)
    assert "no such call" in memory.available_bytes.reason


def test_processor_is_named_and_its_instructions_are_llama_cpps() -> None:
    texts = {"/proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC\n"}
    line = "CUDA : ARCHS = 890 | CPU : AVX2 = 1 | AVX512 = 0 | AMX_INT8 = 1 | OPENMP = 1 | "

    cpu = read_cpu(texts.get, CORES, lambda: line)

    assert cpu.name == "AMD EPYC"
    assert cpu.instructions == ("AVX2", "AMX_INT8")
    assert cpu.n_threads == 2


def test_instructions_are_empty_where_the_build_names_no_cpu() -> None:
    assert instructions_of("") == ()


def test_features_are_those_that_are_on() -> None:
    system = "n_threads = 2 / 4 | CPU : AVX2 = 1 | AVX512 = 0 | REPACK = 1 | "

    assert features_of(system) == ("AVX2", "REPACK")


def test_instructions_say_why_they_are_unknown() -> None:
    def broken() -> str:
        raise OSError("no library")

    cpu = read_cpu(NO_FILES.get, CORES, broken)

    assert isinstance(cpu.instructions, Unknown)
    assert "no library" in cpu.instructions.reason


def device(name: str, kind: str, free: int, total: int) -> Reported:
    return Reported(name, "a device", kind, free, total)


def test_devices_are_read_with_what_they_share() -> None:
    reported = (device("CUDA0", "GPU", 3, 8), device("MTL0", "GPU", 5, 5), device("X", "NPU", 1, 1))

    read = read_devices(lambda: reported)

    assert isinstance(read, tuple)
    assert [d.is_unified for d in read] == [False, True, False]
    assert [d.is_gpu for d in read] == [True, True, False]
    assert read[0].overhead_bytes > 0


def test_device_without_memory_says_so() -> None:
    read = read_devices(lambda: (device("Vulkan0", "GPU", 0, 0),))

    assert isinstance(read, tuple)
    assert read[0].free_bytes == Unknown("its backend reports no memory")


def test_free_memory_is_never_more_than_all() -> None:
    read = read_devices(lambda: (device("A", "GPU", 9, 4),))

    assert isinstance(read, tuple)
    assert read[0].free_bytes == 4


def test_devices_say_why_they_are_unknown() -> None:
    def broken() -> tuple[Reported, ...]:
        raise OSError("no library")

    read = read_devices(broken)

    assert read == Unknown("llama.cpp cannot be asked (no library)")


def test_driver_is_named_or_said_to_be_unknown() -> None:
    driver = read_driver()

    assert (driver.reason if isinstance(driver, Unknown) else driver) != ""


@pytest.mark.parametrize("name", CARDS)
def test_every_card_of_the_table_is_a_machine(name: str) -> None:
    found = machine(name)

    assert found.gpus[0].free_bytes == CARDS[name][1] * GIB


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("RTX 4090", "rtx4090"),
        ("2x RTX-4090", "2x-rtx4090"),
        ("rtx 4070 ti super", "rtx4070ti-super"),
        ("A100 80", "a100-80"),
    ],
)
def test_card_is_known_however_its_name_is_joined(said: str, name: str) -> None:
    assert machine(said).name == name


def test_machines_are_named_with_several_cards_chips_and_memory() -> None:
    two, apple, small, cpu = map(machine, ("2x-rtx4090", "M4-Max-64", "m2-16", "cpu-32"))

    assert [gpu.name for gpu in two.gpus] == ["CUDA0", "CUDA1"]
    assert apple.gpus[0].free_bytes == 48 * GIB
    assert apple.gpus[0].is_unified
    assert small.gpus[0].free_bytes == 16 * GIB * 2 // 3
    assert cpu.gpus == ()
    assert cpu.memory.total_bytes == 32 * GIB


@pytest.mark.parametrize(
    "name",
    ["rtx409", "99x-rtx4090", "", "m9-max-64", "0x-rtx4090", "cpu-0", "m4-max-0", "cpu-999999"],
)
def test_unknown_machine_is_refused_with_names(name: str) -> None:
    with pytest.raises(UsageError) as refusal:
        machine(name)

    assert "rtx4090" in refusal.value.hint
