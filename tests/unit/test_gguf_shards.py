"""Models in several files: any shard stands for the whole, missing ones are named."""

from pathlib import Path

import pytest

from edgespec.errors import ModelFileError
from edgespec.gguf.header import read_header
from tests.rawgguf import KEYS, RawGguf, tensor, text_key, u16_key, u32_key


def write_shards(folder: Path, n: int = 3, *, n_tensors: int | None = None) -> list[Path]:
    """One tensor in each shard; only the first has the model's own metadata."""
    paths = []
    for i in range(n):
        split = (u16_key("split.count", n), u16_key("split.no", i))
        total = u32_key("split.tensors.count", n if n_tensors is None else n_tensors)
        keys = (*split, total, *KEYS) if i == 0 else (*split, total)
        file = RawGguf(keys=keys, tensors=(tensor(f"blk.{i}"),))
        paths.append(file.write(folder / f"m-{i + 1:05d}-of-{n:05d}.gguf"))
    return paths


def refusal(path: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    return caught.value


@pytest.mark.parametrize("given", [0, 1, 2])
def test_any_shard_stands_for_the_model(tmp_path: Path, given: int) -> None:
    paths = write_shards(tmp_path)

    header = read_header(paths[given])

    assert header.path == paths[0]
    assert header.paths == tuple(paths)
    assert [t.name for t in header.tensors] == ["blk.0", "blk.1", "blk.2"]
    assert header.shape.size_bytes == sum(path.stat().st_size for path in paths)
    assert header.shape.n_params == 24


def test_missing_shards_are_named(tmp_path: Path) -> None:
    RawGguf().write(tmp_path / "m-00002-of-00003.gguf")

    error = refusal(tmp_path / "m-00002-of-00003.gguf")

    assert "3 files, and 2 of them" in error.message
    assert "m-00001-of-00003.gguf, m-00003-of-00003.gguf" in error.message
    assert "same folder" in error.hint


def test_many_missing_shards_are_counted(tmp_path: Path) -> None:
    RawGguf().write(tmp_path / "m-00001-of-00100.gguf")

    assert "and 94 more" in refusal(tmp_path / "m-00001-of-00100.gguf").message


def test_truncated_shard_is_named(tmp_path: Path) -> None:
    paths = write_shards(tmp_path)
    paths[2].write_bytes(paths[2].read_bytes()[:-1])

    assert refusal(paths[0]).message.startswith("m-00003-of-00003.gguf is truncated: it has 191 of")


def test_renamed_shard_is_refused(tmp_path: Path) -> None:
    first = write_shards(tmp_path)[0].rename(tmp_path / "model.gguf")

    error = refusal(first)

    assert "is shard 1 of 3, but its name makes it 1 of 1" in error.message
    assert "-00001-of-0000N.gguf" in error.hint


def test_swapped_shards_are_refused(tmp_path: Path) -> None:
    _, second, third = write_shards(tmp_path)
    keep = second.read_bytes()
    second.write_bytes(third.read_bytes())
    third.write_bytes(keep)

    assert "is shard 3 of 3, but its name makes it 2 of 3" in refusal(second).message


def test_shards_that_lack_a_tensor_are_refused(tmp_path: Path) -> None:
    first = write_shards(tmp_path, n_tensors=4)[0]

    assert "hold 3 tensors together, not 4" in refusal(first).message


@pytest.mark.parametrize("name", ["m-00004-of-00003.gguf", "m-00000-of-00003.gguf"])
def test_impossible_shard_number_is_refused(tmp_path: Path, name: str) -> None:
    RawGguf().write(tmp_path / name)

    assert "calls itself shard" in refusal(tmp_path / name).message


def test_single_file_may_be_named_as_shard_one_of_one(tmp_path: Path) -> None:
    path = RawGguf().write(tmp_path / "m-00001-of-00001.gguf")

    assert read_header(path).paths == (path,)


@pytest.mark.parametrize("key", ["split.tensors.count", "split.count", "split.no"])
def test_split_number_of_another_type_is_a_sentence(tmp_path: Path, key: str) -> None:
    paths = write_shards(tmp_path, 2)
    odd = text_key(key, "\0many")
    for i, path in enumerate(paths):
        numbers = {"split.count": 2, "split.no": i, "split.tensors.count": 2}
        keys = [u16_key(name, n) for name, n in numbers.items() if name != key]
        file = RawGguf(keys=(*keys, odd, *KEYS), tensors=(tensor(f"blk.{i}"),))
        file.write(path)

    error = refusal(paths[0])

    assert error.message.isprintable()
    assert error.hint
