"""Damaged containers: every fault is one sentence with its numbers."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.errors import ModelFileError
from edgespec.gguf.header import read_header, read_part
from tests.rawgguf import KEYS, STRING, U32, RawGguf, array_key, packed_text, tensor, u32_key

SOUND = RawGguf()


def refusal(path: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    return caught.value


@pytest.mark.parametrize("version", [2, 3])
def test_header_is_read_in_version(tmp_path: Path, version: int) -> None:
    path = replace(SOUND, version=version).write(tmp_path / "m.gguf")

    header = read_header(path)

    assert header.parts[0].version == version
    assert [t.name for t in header.tensors] == ["blk.0.attn_norm.weight"]


BIG_ENDIAN = int.from_bytes(struct.pack(">I", 3), "little")


@pytest.mark.parametrize(
    ("file", "says", "hint"),
    [
        (replace(SOUND, version=1), "version 1, which llama.cpp no longer reads", "convert"),
        (replace(SOUND, version=99), "version 99; versions 2 and 3", "newer edgespec"),
        (replace(SOUND, version=0), "version 0; versions 2 and 3", "newer edgespec"),
        (replace(SOUND, version=BIG_ENDIAN), "big-endian", "little-endian"),
        (replace(SOUND, magic=b"FUGG"), "big-endian", "little-endian"),
    ],
)
def test_header_refuses_version(tmp_path: Path, file: RawGguf, says: str, hint: str) -> None:
    error = refusal(file.write(tmp_path / "m.gguf"))

    assert says in error.message
    assert hint in error.hint


HUGE = 2**63
LONG_TEXT = struct.pack("<Q", HUGE) + b"general.x"
FILES = {
    "key count over the file's size": (
        replace(SOUND, n_keys=1000),
        "claims 1,000 keys, but has room for 21",
    ),
    "absurd key count": (replace(SOUND, n_keys=HUGE), "9,223,372,036,854,775,808 keys"),
    "tensor count over the file's size": (
        replace(SOUND, n_tensors=1000),
        "claims 1,000 tensors, but has room for",
    ),
    "absurd tensor count": (replace(SOUND, n_tensors=HUGE), "tensors, but has room for"),
    "one key too many": (replace(SOUND, n_keys=6), "damaged"),
    "one key too few": (replace(SOUND, n_keys=4), "unknown to this llama.cpp"),
    "key of absurd length": (replace(SOUND, keys=(LONG_TEXT,)), "a key of 9,223,372,036,854"),
    "empty key": (replace(SOUND, keys=(u32_key("", 1),)), "a key of 0 bytes"),
    "repeated key": (replace(SOUND, keys=(*KEYS, KEYS[1])), "'llama.block_count' twice"),
    "unknown value type": (
        replace(SOUND, keys=(packed_text(b"general.x") + struct.pack("<II", 13, 0),)),
        "'general.x' has the value type 13",
    ),
    "text of absurd length": (
        replace(SOUND, keys=(packed_text(b"general.x") + struct.pack("<IQ", STRING, HUGE),)),
        "truncated",
    ),
    "array of absurd length": (
        replace(SOUND, keys=(array_key("general.x", U32, HUGE, b""),)),
        "'general.x' claims 9,223,372,036,854,775,808 items",
    ),
    "array of texts past the end": (
        replace(SOUND, keys=(array_key("general.x", STRING, 2, LONG_TEXT),)),
        "truncated",
    ),
    "array of arrays": (
        replace(SOUND, keys=(array_key("general.x", 9, 1, b""),)),
        "'general.x' is an array of the value type 9",
    ),
    "alignment of three": (
        replace(SOUND, keys=(*KEYS, u32_key("general.alignment", 3))),
        "alignment is 3, not a power of two",
    ),
    "alignment of zero": (
        replace(SOUND, keys=(*KEYS, u32_key("general.alignment", 0))),
        "alignment is 0",
    ),
    "no dimensions": (replace(SOUND, tensors=(tensor("a", ()),)), "'a' has 0 dimensions"),
    "too many dimensions": (
        replace(SOUND, tensors=(tensor("a", (1,), n_dims=2**32 - 1),)),
        "'a' has 4,294,967,295 dimensions".replace(",", ""),
    ),
    "empty dimension": (replace(SOUND, tensors=(tensor("a", (8, 0)),)), "the shape [8, 0]"),
    "absurd dimensions": (
        replace(SOUND, tensors=(tensor("a", (2**40, 2**40)),)),
        "the shape [1099511627776, 1099511627776]",
    ),
    "row that is no whole block": (
        replace(SOUND, tensors=(tensor("a", (8,), kind=2),)),
        "'a' of Q4_0 has the shape [8]",
    ),
    "tensor type of the future": (
        replace(SOUND, tensors=(tensor("a", kind=77),)),
        "'a' as type 77, unknown to this llama.cpp",
    ),
    "tensor name too long": (replace(SOUND, tensors=(tensor("a" * 64),)), "name of 64 bytes"),
    "repeated tensor": (
        replace(SOUND, tensors=(tensor("a"), tensor("a", offset=32)), data=bytes(64)),
        "the tensor 'a' twice",
    ),
    "overlapping tensors": (
        replace(SOUND, tensors=(tensor("a"), tensor("b")), data=bytes(64)),
        "'b' starts at 0, but the one before it ends at 32",
    ),
    "hole between tensors": (
        replace(SOUND, tensors=(tensor("a"), tensor("b", offset=64)), data=bytes(96)),
        "'b' starts at 64, but the one before it ends at 32",
    ),
    "tensor past the end": (replace(SOUND, data=bytes(31)), "it has 319 of 320 bytes"),
}


@pytest.mark.parametrize("case", FILES)
def test_header_refuses_damage(tmp_path: Path, case: str) -> None:
    file, says = FILES[case]

    error = refusal(file.write(tmp_path / "m.gguf"))

    assert error.message.startswith("m.gguf ")
    assert says in error.message
    assert error.hint


def test_header_refuses_every_truncation_of_a_file(tmp_path: Path) -> None:
    whole = SOUND.build()
    path = tmp_path / "m.gguf"

    for size in range(len(whole)):
        path.write_bytes(whole[:size])

        error = refusal(path)

        assert any(word in error.message for word in ("empty", "trunc", "damaged", "not GGUF"))


def test_header_takes_bytes_after_the_last_tensor(tmp_path: Path) -> None:
    path = replace(SOUND, data=bytes(1000)).write(tmp_path / "m.gguf")

    assert read_header(path).shape.size_bytes == path.stat().st_size


def test_header_keeps_no_text_over_256_kib(tmp_path: Path) -> None:
    long = packed_text(b"tokenizer.huggingface.json") + struct.pack("<I", STRING)
    long += packed_text(b"x" * (2**18 + 1))
    path = replace(SOUND, keys=(*KEYS, long, u32_key("general.last", 7))).write(tmp_path / "m.gguf")

    header = read_header(path)

    assert "tokenizer.huggingface.json" not in header.values
    assert header.values["general.last"] == 7


def test_message_shows_hostile_names_without_control_characters(tmp_path: Path) -> None:
    file = replace(SOUND, tensors=(tensor("\x1b[2J\n", kind=77),))

    error = refusal(file.write(tmp_path / "m.gguf"))

    assert error.message.isprintable()


def test_array_is_read_on_demand(tmp_path: Path) -> None:
    texts = array_key("general.tags", STRING, 2, packed_text(b"a") + packed_text("é".encode()))
    numbers = array_key("general.n", U32, 3, struct.pack("<3I", 5, 6, 7))
    path = replace(SOUND, keys=(*KEYS, texts, numbers)).write(tmp_path / "m.gguf")

    part = read_part(path)

    assert part.texts("general.tags") == [b"a", "é".encode()]
    assert part.numbers("general.n") == (5, 6, 7)
    assert part.numbers("general.n", 2) == (7,)


def test_array_refuses_a_file_that_changed_since(tmp_path: Path) -> None:
    texts = array_key("general.tags", STRING, 1, packed_text(b"abc"))
    path = replace(SOUND, keys=(*KEYS, texts)).write(tmp_path / "m.gguf")
    part = read_part(path)
    path.write_bytes(path.read_bytes().replace(packed_text(b"abc"), packed_text(b"ab") + b"!"))

    with pytest.raises(ModelFileError, match="changed while it was in use"):
        part.texts("general.tags")
