"""Files of architectures that nobody fuzzed: a child tries them before this process does."""

from pathlib import Path

import pytest

from edgespec.api.files import find_files
from edgespec.api.model import load
from edgespec.errors import ModelFileError
from tests.fuzz.originals import write_phi3
from tests.tinygguf import write_llama


def trials(home: Path) -> list[Path]:
    return list((home / "cache" / "trials").glob("*.json"))


def test_file_that_ends_llama_cpp_is_refused(tmp_path: Path) -> None:
    path = write_phi3(tmp_path / "phi.gguf", has_queries=False)

    with pytest.raises(ModelFileError) as caught:
        load(path)

    assert caught.value.message.startswith("phi.gguf is nothing that llama.cpp can run: ")
    assert "SIG" in caught.value.message


def test_file_that_a_child_could_run_is_run_and_remembered(
    tmp_path: Path, edgespec_home: Path
) -> None:
    path = write_phi3(tmp_path / "phi.gguf")
    before = trials(edgespec_home)

    with load(path) as model:
        reply = model.complete("x")

    assert reply.text
    assert len(trials(edgespec_home)) == len(before) + 1


def test_fuzzed_architecture_needs_no_trial(tmp_path: Path, edgespec_home: Path) -> None:
    before = trials(edgespec_home)

    with load(write_llama(tmp_path / "m.gguf")):
        pass

    assert trials(edgespec_home) == before


def test_strange_is_who_has_neither_pin_nor_fuzzed_architecture(tmp_path: Path) -> None:
    phi, llama = write_phi3(tmp_path / "phi.gguf"), write_llama(tmp_path / "m.gguf")

    assert find_files(phi, None, "none").strange == ("phi.gguf",)
    assert find_files(llama, None, "none").strange == ()
