"""Devices, splits and cache types as llama.cpp takes them, and what is refused before it does."""

from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.engine.allocation import Allocation, allocations
from edgespec.engine.binding import heard
from edgespec.engine.context import ContextOptions
from edgespec.engine.devices import devices, handles, own_gpus
from edgespec.engine.model import LoadOptions, Model
from edgespec.errors import ModelFileError, UsageError
from edgespec.plan.types import is_quantised
from tests.engine.conftest import SMALL, WRITERS, TinyModels

MIB = 2**20
LOG = """\
load_tensors:   CPU_Mapped model buffer size =    28.50 MiB
load_tensors:   CPU_REPACK model buffer size =     1.50 MiB
load_tensors:        CUDA0 model buffer size =    40.00 MiB
load_tensors:    CUDA_Host model buffer size =     2.00 MiB
llama_context:        CPU  output buffer size =     0.50 MiB
llama_kv_cache:      CUDA0 KV buffer size =     7.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =     1.00 MiB
llama_kv_cache: size =   11.25 MiB (   512 cells,  30 layers,  1/1 seqs), K (f16):    5.62 MiB
llama_memory_recurrent:  CPU RS buffer size =     3.00 MiB
sched_reserve:      CUDA0 compute buffer size =     1.00 MiB
~llama_context:     CUDA0 compute buffer size is   1.0000 MiB, matches expectation
""".splitlines()


def with_cache(kv_type: str) -> ContextOptions:
    return replace(SMALL, kv_type=kv_type)  # type: ignore[arg-type]


def test_cpu_is_a_device_without_layers() -> None:
    (cpu,) = [device for device in devices() if device.kind == "CPU"]

    assert (cpu.name, cpu.worker) == ("CPU", "")
    assert cpu.total_bytes > 0
    assert cpu.name not in own_gpus()


def test_device_that_is_not_there_is_refused_before_the_load(tmp_path: Path) -> None:
    path = WRITERS["llama"](tmp_path / "m.gguf")

    with pytest.raises(UsageError, match="there is no device 'CUDA9'"):
        Model(path, LoadOptions(devices=("CUDA9",)))


def test_cpu_takes_no_layers_as_a_device() -> None:
    with pytest.raises(UsageError, match="there is no device 'CPU' of the kind GPU or IGPU"):
        handles(("CPU",))


def test_array_of_devices_ends_with_null() -> None:
    assert list(handles(())) == [None]
    assert handles(("CPU",), kinds=("CPU",))[1] is None


@pytest.mark.skipif(bool(own_gpus()), reason="there is a GPU: devices None means it")
def test_model_lies_on_the_cpu_where_there_is_no_other(tiny: TinyModels) -> None:
    assert tiny["llama"].devices == ()
    assert tiny["llama"].relays == ()


@pytest.mark.parametrize("kv_type", ["q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"])
def test_quantised_cache_wants_heads_of_whole_blocks(tiny: TinyModels, kv_type: str) -> None:
    with pytest.raises(UsageError, match=rf"a cache of {kv_type} packs 32 .* have 16"):
        tiny["llama"].new_session(with_cache(kv_type))


@pytest.mark.parametrize("kv_type", ["f32", "f16", "bf16"])
def test_other_caches_take_any_heads(tiny: TinyModels, kv_type: str) -> None:
    session = tiny["llama"].new_session(with_cache(kv_type))

    session.close()

    assert not is_quantised(kv_type)  # type: ignore[arg-type]


def test_recurrent_model_has_no_heads_to_check(tiny: TinyModels) -> None:
    session = tiny["mamba"].new_session(with_cache("q8_0"))

    session.close()


def test_allocations_are_summed_by_kind_and_place() -> None:
    found = allocations(LOG)

    assert found == (
        Allocation("weights", "CPU", 30 * MIB + MIB // 2),
        Allocation("copies", "CPU", MIB + MIB // 2),
        Allocation("weights", "CUDA0", 40 * MIB),
        Allocation("output", "CPU", MIB // 2),
        Allocation("KV", "CUDA0", 8 * MIB),
        Allocation("state", "CPU", 3 * MIB),
        Allocation("compute", "CUDA0", MIB),
    )


def test_load_tells_what_it_allocates_whatever_is_logged(tmp_path: Path) -> None:
    path = WRITERS["llama"](tmp_path / "m.gguf")

    with heard() as lines:
        model = Model(path, LoadOptions(devices=()))
        model.new_session(SMALL).close()
    model.close()

    places = {(one.what, one.where) for one in allocations(lines)}
    assert {("weights", "CPU"), ("KV", "CPU"), ("compute", "CPU")} <= places


def test_refused_load_names_the_reason_not_its_echo(tmp_path: Path) -> None:
    path = WRITERS["llama"](tmp_path / "m.gguf")
    path.write_bytes(path.read_bytes()[:-1000])

    with pytest.raises(ModelFileError, match="corrupted or incomplete"):
        Model(path, LoadOptions(devices=()))
