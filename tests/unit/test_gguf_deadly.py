"""What would end the process inside llama.cpp, or hang it: refused with a sentence before."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.errors import ModelFileError
from edgespec.gguf.header import read_header
from tests.fuzz.anatomy import Anatomy, Key, dissect, number_key, text_key
from tests.fuzz.originals import write_qwen3moe, write_qwen35
from tests.tinygguf import write_gemma3, write_hybrid, write_llama

WRITERS: dict[str, Callable[[Path], Path]] = {
    "llama": write_llama,
    "gemma3": write_gemma3,
    "lfm2": write_hybrid,
    "qwen3moe": write_qwen3moe,
    "qwen35": write_qwen35,
}


def model(folder: Path, architecture: str) -> Anatomy:
    return dissect(WRITERS[architecture](folder / "original.gguf").read_bytes())


def with_keys(file: Anatomy, *keys: Key) -> Anatomy:
    """The file with these keys in place of its own of that name."""
    names = {key.name for key in keys}
    return replace(file, keys=(*(key for key in file.keys if key.name not in names), *keys))


def message(folder: Path, file: Anatomy) -> str:
    path = folder / "m.gguf"
    path.write_bytes(file.build())
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    assert caught.value.hint
    return caught.value.message


def u32(name: str, value: int) -> Key:
    return number_key(name.encode(), value)


def f32(name: str, value: float) -> Key:
    return Key(name.encode(), 6, struct.pack("<f", value))


def f32s(name: str, *values: float) -> Key:
    return Key(name.encode(), 9, struct.pack(f"<IQ{len(values)}f", 6, len(values), *values))


def flags(name: str, *values: bool) -> Key:
    items = struct.pack(f"<IQ{len(values)}?", 7, len(values), *values)
    return Key(name.encode(), 9, items)


def sizes(name: str, *values: int) -> Key:
    return Key(name.encode(), 9, struct.pack(f"<IQ{len(values)}i", 5, len(values), *values))


KEYS: dict[str, tuple[str, Sequence[Key], str]] = {
    "more prediction layers than layers": (
        "llama", [u32("llama.nextn_predict_layers", 3)], "3 prediction layers among 2 layers"),
    "all caches shared": (
        "gemma3", [u32("gemma3.attention.shared_kv_layers", 2)], "shares the cache of 2 of its 3"),
    "experts without experts": (
        "llama", [u32("llama.expert_used_count", 2)], "uses 2 of 0 experts"),
    "no expert used": ("qwen3moe", [u32("qwen3moe.expert_used_count", 0)], "uses 0 of 4 experts"),
    "too many experts": (
        "qwen3moe", [u32("qwen3moe.expert_count", 2000)], "at most 1024 are possible"),
    "experts that are no number": (
        "qwen3moe", [f32s("qwen3moe.expert_count", float("nan"))], "of 0 experts for a token"),
    "as many groups as experts": (
        "qwen3moe", [u32("qwen3moe.expert_group_count", 4)], "4 experts into 4 groups"),
    "groups that do not divide": (
        "qwen3moe", [u32("qwen3moe.expert_group_count", 3)], "4 experts into 3 groups"),
    "groups of which none is used": (
        "qwen3moe", [u32("qwen3moe.expert_group_count", 2)], "and uses 0 of those"),
    "key heads that do not divide the query heads": (
        "llama", [u32("llama.attention.head_count_kv", 3)], "4 query heads for 3 key heads"),
    "keys and values of two sizes": (
        "llama", [u32("llama.attention.value_length", 8)], "keys of 16 and values of 8"),
    "part of a key rotated": (
        "llama", [u32("llama.rope.dimension_count", 8)], "rotates 8 of 16 numbers of a key"),
    "more rotated than there is": (
        "gemma3", [u32("gemma3.rope.dimension_count", 256)], "rotates 256 of 16 numbers"),
    "an odd number rotated": (
        "gemma3", [u32("gemma3.rope.dimension_count", 3)], "rotates 3 of 16 numbers"),
    "nothing rotated": (
        "lfm2", [u32("lfm2.rope.dimension_count", 0)], "rotates none of the numbers"),
    "unknown scaling": (
        "llama", [text_key(b"llama.rope.scaling.type", b"spline")],
        "by 'spline'; known are linear, longrope, none, yarn"),
    "a window in no layer": (
        "gemma3", [u32("gemma3.attention.sliding_window_pattern", 1)], "but in no layer"),
    "a window in no layer, by layer": (
        "gemma3", [flags("gemma3.attention.sliding_window_pattern", False, False, False)],
        "but in no layer"),
    "an absurd window": (
        "gemma3", [u32("gemma3.attention.sliding_window", 2**31 - 1)], "at most 16,777,216 work"),
    "a negative epsilon": (
        "llama", [f32("llama.attention.layer_norm_rms_epsilon", -1.0)], "is -1.0, not a small"),
    "an epsilon that is no number": (
        "llama", [f32("llama.attention.layer_norm_rms_epsilon", float("nan"))], "is nan"),
    "a state that is not of its heads": (
        "qwen35", [u32("qwen35.ssm.inner_size", 31)], "of 31 numbers for 4 heads of 16 in 2"),
    "heads in no groups": ("qwen35", [u32("qwen35.ssm.group_count", 0)], "in 0 groups"),
    "sections of nothing": (
        "qwen35", [sizes("qwen35.rope.dimension_sections", 0, 0, 0, 4)], "rotates 4 of 16"),
    "sections of too much": (
        "qwen35", [sizes("qwen35.rope.dimension_sections", 9, 9, 9, 0)], "rotates 27 of 16"),
    "a pattern that is a fraction": (
        "gemma3", [f32("gemma3.attention.sliding_window_pattern", 0.5)], "is no whole number"),
    "attention every 0 layers": (
        "lfm2", [u32("lfm2.full_attention_interval", 0)], "'lfm2.full_attention_interval' is 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", KEYS)
def test_header_refuses_hyperparameters_with(tmp_path: Path, case: str) -> None:
    architecture, keys, says = KEYS[case]

    assert says in message(tmp_path, with_keys(model(tmp_path, architecture), *keys))


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        (b"blk.0.ffn_up.weight", 26, "as I32, in which nothing is computed"),
        (b"blk.0.attn_q.weight", 28, "as F64, in which nothing is computed"),
        (b"blk.0.attn_norm.weight", 1, "as F16, but only F32 works there"),
        (b"blk.0.shortconv.conv.weight", 1, "as F16, but only F32 works there"),
    ],
)
def test_header_refuses_a_weight_of_a_type(
    tmp_path: Path, name: bytes, kind: int, says: str
) -> None:
    file = model(tmp_path, "lfm2" if b"shortconv" in name else "llama")
    size = {26: 4, 28: 8, 1: 2}[kind]
    entries = tuple(
        replace(one, kind=kind, data=bytes(len(one.data) // 4 * size)) if one.name == name else one
        for one in file.entries
    )
    assert entries != file.entries

    assert says in message(tmp_path, replace(file, entries=entries))


@pytest.mark.parametrize("alignment", [1, 8, 16])
def test_header_refuses_tensors_that_a_mapped_file_cannot_hold(
    tmp_path: Path, alignment: int
) -> None:
    file = model(tmp_path, "llama")
    odd = replace(file.entries[0], name=b"blk.0.odd", dims=(3,), data=bytes(12))
    key = u32("general.alignment", alignment)
    file = replace(with_keys(file, key), entries=(odd, *file.entries), alignment=alignment)

    assert "not at a multiple of 32" in message(tmp_path, file)


def test_header_refuses_an_alignment_of_another_type(tmp_path: Path) -> None:
    key = number_key(b"general.alignment", 32, 10)

    assert "its alignment is 32" in message(tmp_path, with_keys(model(tmp_path, "llama"), key))


def test_header_refuses_a_model_without_layers(tmp_path: Path) -> None:
    file = model(tmp_path, "llama")
    entries = tuple(one for one in file.entries if not one.name.startswith(b"blk."))

    assert "has no layers" in message(tmp_path, replace(file, entries=entries))


@pytest.mark.parametrize("name", [b"blk.0.attn_qkv.weight", b"blk.0.attn_gate.weight"])
def test_header_refuses_a_recurrent_layer_without_its_input(tmp_path: Path, name: bytes) -> None:
    file = model(tmp_path, "qwen35")
    entries = tuple(one for one in file.entries if one.name != name)

    says = message(tmp_path, replace(file, entries=entries))

    assert "lacks the input of the recurrent layer 0" in says


def test_header_takes_numbers_that_only_look_odd(tmp_path: Path) -> None:
    """What real models have: no experts said twice, a key length that is not the quotient."""
    file = model(tmp_path, "gemma3")
    path = tmp_path / "m.gguf"
    path.write_bytes(
        with_keys(
            file,
            u32("gemma3.expert_count", 0),
            u32("gemma3.expert_used_count", 0),
            text_key(b"gemma3.rope.scaling.type", b"yarn"),
            u32("gemma3.attention.sliding_window_pattern", 2),
            f32("gemma3.attention.layer_norm_rms_epsilon", 0.0),
        ).build()
    )

    assert read_header(path).architecture == "gemma3"


def test_header_refuses_lists_of_more_texts_than_any_tokenizer_has(tmp_path: Path) -> None:
    n = (1 << 21) + 1
    texts = Key(b"tokenizer.ggml.merges", 9, struct.pack("<IQ", 8, n) + bytes(8 * n))

    assert "lists hold over 2,097,152 texts" in message(
        tmp_path, with_keys(model(tmp_path, "llama"), texts)
    )
