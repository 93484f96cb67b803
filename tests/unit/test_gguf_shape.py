"""Sizes from metadata, and absurd ones refused before llama.cpp would abort on them."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.errors import ModelFileError
from edgespec.gguf.header import read_header
from tests.fuzz.originals import write_qwen35
from tests.rawgguf import KEYS, U32, RawGguf, array_key, tensor, text_key, u32_key
from tests.tinygguf import CHATML, VOCAB, write_gemma3, write_hybrid, write_llama, write_mamba


def test_shape_of_a_llama(tmp_path: Path) -> None:
    shape = read_header(write_llama(tmp_path / "m.gguf", n_ctx=256)).shape

    assert (shape.architecture, shape.name, shape.quant) == ("llama", "tiny-llama", "F32")
    assert (shape.n_layer, shape.n_ctx_train, shape.n_embd) == (2, 256, 64)
    assert (shape.n_head, shape.n_head_kv) == ((4, 4), (2, 2))
    assert (shape.n_head_dim_k, shape.n_head_dim_v, shape.n_window) == (16, 16, 0)
    assert shape.n_vocab == len(VOCAB)
    assert shape.chat_template == CHATML
    assert shape.size_bytes == (tmp_path / "m.gguf").stat().st_size
    assert shape.n_params - shape.n_params_body == 2 * 64 * len(VOCAB)
    assert not shape.is_recurrent
    assert not shape.is_hybrid


def test_shape_of_a_sliding_window_model(tmp_path: Path) -> None:
    shape = read_header(write_gemma3(tmp_path / "m.gguf", n_window=32)).shape

    assert (shape.architecture, shape.n_window) == ("gemma3", 32)


def test_recurrent_model_has_no_keys_and_values(tmp_path: Path) -> None:
    shape = read_header(write_mamba(tmp_path / "m.gguf")).shape

    assert shape.is_recurrent
    assert shape.kv_bytes_per_token() == 0


def test_hybrid_has_keys_and_values_in_its_attention_layers(tmp_path: Path) -> None:
    shape = read_header(write_hybrid(tmp_path / "m.gguf")).shape

    assert shape.is_hybrid
    assert shape.n_head_kv == (0, 2, 0)
    assert shape.kv_bytes_per_token() == 2 * (16 + 16) * 2


def test_hybrid_by_interval_has_keys_and_values_in_every_nth_layer(tmp_path: Path) -> None:
    shape = read_header(write_qwen35(tmp_path / "m.gguf")).shape

    assert shape.n_head_kv == (0, 2)


@pytest.mark.parametrize(
    ("kv_type", "n_bytes"), [("f32", 512), ("f16", 256), ("q8_0", 136), ("q4_0", 72)]
)
def test_kv_bytes_per_token(tmp_path: Path, kv_type: str, n_bytes: float) -> None:
    shape = read_header(write_llama(tmp_path / "m.gguf")).shape

    assert shape.kv_bytes_per_token(kv_type) == n_bytes


@pytest.mark.parametrize(("file_type", "quant"), [(15, "Q4_K_M"), (1024, "Q8_0"), (None, "Q8_0")])
def test_quant_is_the_files_word_else_its_commonest_type(
    tmp_path: Path, file_type: int | None, quant: str
) -> None:
    keys = KEYS if file_type is None else (*KEYS, u32_key("general.file_type", file_type))
    tensors = (tensor("norm", (8,)), tensor("blk.0.big", (64,), kind=8, offset=32))
    file = RawGguf(keys=keys, tensors=tensors, data=bytes(100))

    assert read_header(file.write(tmp_path / "m.gguf")).shape.quant == quant


def test_digest_is_the_vocabularys_not_the_weights(tmp_path: Path) -> None:
    one, other, padded = (
        read_header(path).tokens.digest()
        for path in (
            write_llama(tmp_path / "a.gguf"),
            write_mamba(tmp_path / "b.gguf", seed=1),
            write_llama(tmp_path / "c.gguf", n_vocab_extra=1),
        )
    )

    assert one == other
    assert one != padded


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (u32_key("llama.block_count", 0), "'llama.block_count' is 0"),
        (u32_key("llama.block_count", 513), "is 513, not a whole number up to 512"),
        (u32_key("llama.embedding_length", 2**32 - 1), "'llama.embedding_length' is 4294967295"),
        (text_key("llama.block_count", "many"), "'llama.block_count' is 'many'"),
        (u32_key("llama.x", 1), "lacks 'llama.block_count'"),
    ],
)
def test_shape_refuses_a_size_that_no_model_has(tmp_path: Path, key: bytes, says: str) -> None:
    name = b"embedding_length" if b"embedding_length" in key else b"block_count"
    file = RawGguf(keys=(*(one for one in KEYS if name not in one), key))

    with pytest.raises(ModelFileError) as caught:
        read_header(file.write(tmp_path / "m.gguf"))

    assert says in caught.value.message


@pytest.mark.parametrize(
    ("kind", "items", "says"),
    [
        (U32, b"", "has 0 items for 1 layers"),
        (U32, struct.pack("<600I", *range(600)), "has 600 items for 1 layers"),
        (6, struct.pack("<f", float("nan")), "items that are no sizes"),
        (5, struct.pack("<i", -1), "items that are no sizes"),
    ],
)
def test_shape_refuses_absurd_head_counts(
    tmp_path: Path, kind: int, items: bytes, says: str
) -> None:
    heads = array_key("llama.attention.head_count", kind, len(items) // 4, items)
    file = replace(RawGguf(), keys=(*KEYS[:-1], heads))

    with pytest.raises(ModelFileError, match=says):
        read_header(file.write(tmp_path / "m.gguf"))
