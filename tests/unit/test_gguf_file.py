"""What is no model, and where a model is: one sentence and a way out for each."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.errors import EdgespecError, ModelFileError, ModelNotFound
from edgespec.gguf.header import read_header
from tests.rawgguf import KEYS, RawGguf, flag_key, text_key
from tests.tinygguf import write_llama


def refusal(path: Path) -> EdgespecError:
    with pytest.raises(EdgespecError) as caught:
        read_header(path)
    return caught.value


ALIENS = {
    "empty": (b"", "is empty: 0 bytes", "download"),
    "web page": (b"\n<!DOCTYPE html><html>", "is a web page", "/resolve/"),
    "error message": (b'{"error": "not found"}', "is JSON text", "download"),
    "lfs pointer": (b"version https://git-lfs.github.com/spec/v1", "Git LFS", "git lfs pull"),
    "zip": (b"PK\x03\x04....", "PyTorch or zip", "convert"),
    "ggml": (b"tjgg....", "old GGML format", "GGUF"),
    "safetensors": (b'\x10\0\0\0\0\0\0\0{"a": 1}', "safetensors", "convert"),
    "archive": (b"\x1f\x8b\x08\0", "compressed archive", "unpack"),
    "zeros": (bytes(64), "begins with zeros", "download"),
    "other": (b"\x89PNG", "begins with the bytes 89 50 4e 47 instead", "download"),
    "three bytes": (b"GGU", "begins with 'GGU' instead of 'GGUF'", "download"),
    "a word": (b"hello", "begins with 'hell' instead", "download"),
}


@pytest.mark.parametrize("case", ALIENS)
def test_file_says_what_it_is_when_not_gguf(tmp_path: Path, case: str) -> None:
    content, says, hint = ALIENS[case]
    path = tmp_path / "m.gguf"
    path.write_bytes(content)

    error = refusal(path)

    assert isinstance(error, ModelFileError)
    assert says in error.message
    assert hint in error.hint


def model_of_kind(kind: str, architecture: str = "llama") -> RawGguf:
    keys = (text_key("general.type", kind), text_key("general.architecture", architecture))
    return RawGguf(keys=(*keys, *KEYS[1:]))


def without_a_causal_mask() -> RawGguf:
    file = model_of_kind("model")
    file.keys = (*file.keys, flag_key("llama.attention.causal", False))
    return file


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (model_of_kind("adapter"), "is a LoRA adapter, not a model"),
        (model_of_kind("mmproj"), "projector (mmproj), not a language model"),
        (model_of_kind("model", "clip"), "projector (mmproj), not a language model"),
        (model_of_kind("imatrix"), "importance weights"),
        (model_of_kind("model", "bert"), "is an embedding model"),
        (model_of_kind("model", "dream"), "is a diffusion model"),
        (model_of_kind("model", "eagle3"), "is a draft head inside another model"),
        (model_of_kind("model", "dflash"), "is a draft head inside another model"),
        (model_of_kind("model", "gemma4-assistant"), "is a draft head inside another model"),
        (without_a_causal_mask(), "is an embedding model"),
        (model_of_kind("model", "t5"), "is an encoder-decoder model"),
    ],
)
def test_file_names_its_kind_when_no_language_model(
    tmp_path: Path, file: RawGguf, says: str
) -> None:
    error = refusal(file.write(tmp_path / "m.gguf"))

    assert says in error.message
    assert "language model" in error.hint


def test_adapter_names_its_base_model(tmp_path: Path) -> None:
    file = model_of_kind("adapter")
    file.keys = (*file.keys, text_key("general.base_model.0.name", "Qwen3 0.6B"))

    assert "'Qwen3 0.6B'" in refusal(file.write(tmp_path / "m.gguf")).hint


def test_file_without_tensors_is_a_vocabulary_only(tmp_path: Path) -> None:
    error = refusal(RawGguf(tensors=(), data=b"").write(tmp_path / "m.gguf"))

    assert "is a vocabulary only" in error.message


def test_file_without_architecture_is_refused(tmp_path: Path) -> None:
    error = refusal(RawGguf(keys=KEYS[1:]).write(tmp_path / "m.gguf"))

    assert "'general.architecture'" in error.message


def test_unknown_architecture_is_left_to_llama_cpp(tmp_path: Path) -> None:
    raw = RawGguf().build().replace(b"llama", b"zebra")
    path = tmp_path / "m.gguf"
    path.write_bytes(raw)

    assert read_header(path).architecture == "zebra"


def test_folder_lists_its_models_three_levels_deep(tmp_path: Path) -> None:
    for name in ("a.gguf", "x/b.gguf", "x/y/c.gguf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    error = refusal(tmp_path)

    assert isinstance(error, ModelNotFound)
    assert "holds 3 GGUF files" in error.message
    names = ("a.gguf", os.path.join("x", "b.gguf"), os.path.join("x", "y", "c.gguf"))
    assert all(name in error.message for name in names)


def test_folder_without_models_says_so(tmp_path: Path) -> None:
    assert "holds no .gguf file (searched 3 folder levels)" in refusal(tmp_path).message


def test_missing_file_suggests_the_nearest_name(tmp_path: Path) -> None:
    for quant in ("Q4_K_M", "Q8_0"):
        (tmp_path / f"qwen3-0.6b-{quant}.gguf").touch()

    error = refusal(tmp_path / "qwen3-0.6b-Q4_K_S.gguf")

    assert isinstance(error, ModelNotFound)
    assert "did you mean qwen3-0.6b-Q4_K_M.gguf" in error.hint


def test_missing_file_lists_the_models_beside_it_when_none_is_near(tmp_path: Path) -> None:
    (tmp_path / "qwen3-0.6b.gguf").touch()

    assert "in that folder: qwen3-0.6b.gguf" in refusal(tmp_path / "zzz").hint


@pytest.mark.parametrize("name", ["no/such/folder/m.gguf", "m\0.gguf"])
def test_path_that_cannot_be_is_not_found(tmp_path: Path, name: str) -> None:
    assert isinstance(refusal(tmp_path / name), ModelNotFound)


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """Root may read everything, so root steps down for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_unreadable_file_says_permission_denied(tmp_path: Path, ordinary_user: None) -> None:
    path = tmp_path / "m.gguf"
    if os.geteuid() != 65534:
        path.touch(mode=0)

    error = refusal(path)

    assert isinstance(error, ModelFileError)
    assert "permission denied" in error.message


def test_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.gguf")

    assert "not a regular file" in refusal(tmp_path / "m.gguf").message


def test_file_is_read_under_a_path_of_any_script(tmp_path: Path) -> None:
    folder = tmp_path / "Modèle é 日本"
    folder.mkdir()

    header = read_header(write_llama(folder / "모델 🦙.gguf"))

    assert header.path == folder / "모델 🦙.gguf"
    assert header.architecture == "llama"


@pytest.mark.parametrize(
    "name", ["m.gguf.part1of2", "m.gguf-part-1", "m.gguf-split-a", "m.gguf.001"]
)
def test_piece_of_a_cut_file_is_to_be_joined(tmp_path: Path, name: str) -> None:
    whole = RawGguf().build()
    first, second = tmp_path / name, tmp_path / name.replace("1", "2").replace("-a", "-b")
    first.write_bytes(whole[:200])
    second.write_bytes(whole[200:])

    errors = [refusal(first), refusal(second)]

    assert all("join all of them in order into m.gguf" in error.hint for error in errors)


def test_header_survives_replacing_its_file(tmp_path: Path) -> None:
    path = replace(RawGguf()).write(tmp_path / "m.gguf")

    header = read_header(path)
    path.unlink()

    assert header.shape.n_layer == 1
