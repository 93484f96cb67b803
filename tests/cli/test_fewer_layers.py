"""`edgespec models fewer-layers`: a copy with some layers, which the `gguf` package writes."""

import os
from pathlib import Path

import gguf
import numpy as np
import pytest
from click.testing import CliRunner, Result

from edgespec.api.model import load
from edgespec.cli.main import cli
from edgespec.gguf.header import read_header
from tests.api.answers import options
from tests.tinygguf import write_gemma3, write_hybrid, write_llama


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["models", "fewer-layers", *map(str, arguments)])


def test_copy_has_the_kept_layers_renumbered_and_all_else(tmp_path: Path) -> None:
    source, copy = write_gemma3(tmp_path / "m.gguf"), tmp_path / "copy.gguf"

    result = run(source, "0,2", copy)

    before = {t.name: t for t in gguf.GGUFReader(source).tensors}
    after = {t.name: t for t in gguf.GGUFReader(copy).tensors}
    new_names = {
        name.replace("blk.2.", "blk.1."): name for name in before if not name.startswith("blk.1.")
    }
    assert ": 2 of 3 layers, " in result.output
    assert set(after) == set(new_names)
    for name, old in new_names.items():
        assert after[name].tensor_type == before[old].tensor_type
        assert np.array_equal(after[name].data, before[old].data)


def test_copy_keeps_the_metadata_but_for_layers_and_name(tmp_path: Path) -> None:
    source, copy = write_llama(tmp_path / "m.gguf"), tmp_path / "copy.gguf"

    run(source, "1", copy)

    before, after = read_header(source), read_header(copy)
    changed = {key for key in before.values if before.values[key] != after.values[key]}
    assert changed == {"llama.block_count", "general.name"}
    assert after.shape.n_layer == 1
    assert after.shape.name == "tiny-llama, 1 of 2 layers"
    assert after.tokens.digest() == before.tokens.digest()
    assert after.shape.chat_template == before.shape.chat_template


def test_values_by_layer_are_those_of_the_kept_ones(tmp_path: Path) -> None:
    source, copy = write_hybrid(tmp_path / "m.gguf"), tmp_path / "copy.gguf"
    by_layer = read_header(source).shape.n_head_kv

    run(source, "1", copy)

    assert read_header(copy).shape.n_head_kv == by_layer[1:2]
    assert len(set(by_layer)) > 1


def test_copy_drafts_for_its_model_and_changes_nothing(tmp_path: Path) -> None:
    source, copy = write_llama(tmp_path / "m.gguf", scale=3.0), tmp_path / "copy.gguf"
    run(source, "0", copy)

    with load(source, draft=copy, drafter="model", n_threads=1, measure=False) as model:
        drafted = model.complete("Hello", options(24))
        plain = model.complete("Hello", options(24, drafter="none"))

    assert drafted.tokens == plain.tokens
    assert drafted.stats.drafted > 0


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ("0-2", "layers 0-2 are not among the model's, which are 0-1"),
        ("1-0", "layers 1-0 are not among the model's"),
        ("first", "'first' are no layers"),
        ("", "'' are no layers"),
    ],
)
def test_layers_that_are_none_are_refused(layers: str, message: str, tmp_path: Path) -> None:
    result = run(write_llama(tmp_path / "m.gguf"), layers, tmp_path / "copy.gguf")

    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "copy.gguf").exists()


def test_model_itself_is_not_written_over(tmp_path: Path) -> None:
    source = write_llama(tmp_path / "m.gguf")
    before = source.read_bytes()

    result = run(source, "0", source)

    assert result.exit_code == 2
    assert "is the model itself" in result.stderr
    assert source.read_bytes() == before


def test_what_is_no_ordinary_file_stays_what_it_is(tmp_path: Path) -> None:
    # The finished copy is moved to its place: a device or a pipe there would be gone.
    source, pipe = write_llama(tmp_path / "m.gguf"), tmp_path / "pipe"
    os.mkfifo(pipe)

    result = run(source, "0", pipe)

    assert result.exit_code == 2
    assert "pipe is no ordinary file" in result.stderr
    assert pipe.is_fifo()


def test_nothing_is_left_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_llama(tmp_path / "m.gguf")

    def full(writer: gguf.GGUFWriter) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gguf.GGUFWriter, "write_tensors_to_file", full)
    result = run(source, "0", tmp_path / "copy.gguf")

    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert [path.name for path in tmp_path.glob("*.gguf*")] == ["m.gguf"]
