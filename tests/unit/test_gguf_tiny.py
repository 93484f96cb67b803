"""The generated models keep the promises that other tests build on."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader

from edgespec.gguf.header import read_header
from tests.tinygguf import VOCAB, write_gemma3, write_hybrid, write_llama, write_mamba

WRITERS = [write_llama, write_gemma3, write_mamba, write_hybrid]


@pytest.mark.parametrize("write", WRITERS)
def test_tiny_model_is_small_sound_and_the_same_every_time(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    first, second = write(tmp_path / "a.gguf"), write(tmp_path / "b.gguf")

    read_header(first).tokens.check()
    assert first.stat().st_size < 500_000
    assert first.read_bytes() == second.read_bytes()


def tensors(path: Path) -> dict[str, np.ndarray]:
    return {t.name: np.array(t.data) for t in GGUFReader(path).tensors}


def test_padding_changes_nothing_but_its_own_rows(tmp_path: Path) -> None:
    plain = tensors(write_llama(tmp_path / "a.gguf"))

    padded = tensors(write_llama(tmp_path / "b.gguf", n_vocab_extra=8))

    assert padded["output.weight"].shape == (len(VOCAB) + 8, 64)
    assert all(np.array_equal(padded[name][: len(plain[name])], plain[name]) for name in plain)


def test_noise_moves_weights_by_its_share(tmp_path: Path) -> None:
    plain = tensors(write_llama(tmp_path / "a.gguf"))["blk.0.ffn_up.weight"]

    noisy = tensors(write_llama(tmp_path / "b.gguf", noise=0.1))["blk.0.ffn_up.weight"]

    assert float((noisy - plain).std() / plain.std()) == pytest.approx(0.1, rel=0.05)
