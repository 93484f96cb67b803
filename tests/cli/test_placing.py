"""Flags that say where models go, and what `edgespec.load` hears of them."""

import click
import pytest
from click.testing import CliRunner

from edgespec.cli.doors import Doors
from edgespec.cli.main import cli
from edgespec.cli.placing import PLACING, size_bytes
from edgespec.errors import UsageError
from tests.scripted import ScriptedLM


def asked_of_load(gguf: str, *flags: str) -> dict[str, object]:
    asked: dict[str, object] = {}

    def load(target: object, **rest: object) -> ScriptedLM:
        asked.update(rest)
        return ScriptedLM()

    command = ["-t", gguf, "--draft", "off", "-p", "Hi", *flags]
    result = CliRunner().invoke(cli, command, obj=Doors(load=load))
    assert result.exit_code == 0, result.output
    return asked


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        (("--kv", "q8_0"), "kv_type", "q8_0"),
        (("--gpu-layers", "0"), "n_gpu_layers", 0),
        (("--device", "CUDA0, RPC0"), "devices", ("CUDA0", "RPC0")),
        (("--draft-device", "CUDA1"), "draft_devices", ("CUDA1",)),
        (("--split-mode", "tensor"), "split_mode", "tensor"),
        (("--rpc", "desk:50052"), "rpc", "desk:50052"),
        (("--memory", "512M"), "memory_bytes", 512 * 2**20),
    ],
)
def test_load_hears_where_models_go(
    gguf: str, flags: tuple[str, ...], name: str, value: object
) -> None:
    assert asked_of_load(gguf, *flags)[name] == value


def test_every_placing_flag_is_tried_above() -> None:
    tried = {"kv", "gpu_layers", "device", "draft_device", "split_mode", "rpc", "memory"}

    @click.command()
    def command() -> None: ...

    for option in PLACING:
        option(command)

    assert {parameter.name for parameter in command.params} == tried


def test_load_hears_nothing_where_nothing_was_said(gguf: str) -> None:
    said = asked_of_load(gguf)

    assert not {"kv_type", "n_gpu_layers", "devices", "rpc", "memory_bytes"}.intersection(said)


@pytest.mark.parametrize(
    ("text", "size"), [("6G", 6 * 2**30), ("1.5g", 3 * 2**29), ("300 MiB", 300 * 2**20)]
)
def test_amount_of_memory_is_read(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "6", "0G", "six", "-1G", "6T"])
def test_amount_of_memory_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no amount of memory"):
        size_bytes(text)
