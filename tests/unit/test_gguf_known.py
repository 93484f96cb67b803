"""A second file with the vocabulary of the first: read, but not walked through again."""

import struct
from pathlib import Path

import pytest

from edgespec.errors import ModelFileError
from edgespec.gguf.cursor import Cursor
from edgespec.gguf.parse import parse_part
from edgespec.gguf.part import GgufPart
from tests.rawgguf import KEYS, STRING, RawGguf, array_key, packed_text, u32_key

TOKENS = "tokenizer.ggml.tokens"
MERGES = "tokenizer.ggml.merges"


class Walker(Cursor):
    """Counts the texts that are passed one by one."""

    n_walked = 0

    def skip_strings(self, n: int) -> None:
        self.n_walked += n
        super().skip_strings(n)


def written(path: Path, *arrays: tuple[str, tuple[bytes, ...]], more: int = 0) -> Path:
    keys = [
        array_key(key, STRING, len(texts), b"".join(map(packed_text, texts)))
        for key, texts in arrays
    ]
    return RawGguf(keys=(*KEYS, u32_key("general.more", more), *keys)).write(path)


def parsed(path: Path, known: GgufPart | None = None) -> tuple[GgufPart, int]:
    """The file, and how many texts were walked through."""
    with path.open("rb") as file:
        cursor = Walker(file, path.stat().st_size, 4)
        return parse_part(path, cursor, known=known), cursor.n_walked


WORDS = (b"a", b"bc", b"def")


def test_same_texts_are_not_walked_again(tmp_path: Path) -> None:
    arrays = ((TOKENS, WORDS), (MERGES, (b"a b", b"c d")))
    first, n_first = parsed(written(tmp_path / "a.gguf", *arrays))

    second, n_second = parsed(written(tmp_path / "b.gguf", *arrays, more=1), first)

    assert (n_first, n_second) == (5, 0)
    assert second.texts(TOKENS) == list(WORDS)
    assert second.texts(MERGES) == [b"a b", b"c d"]
    assert second.tensors == first.tensors


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param((b"ab", b"c", b"def"), id="other lengths, as many bytes"),
        pytest.param((b"a", b"bc", b"deg"), id="the last byte"),
        pytest.param((b"a", b"bc", b"def", b"g"), id="one more"),
        pytest.param((b"a", b"bc"), id="one less"),
        pytest.param((b"a", b"bc", b"de"), id="shorter"),
    ],
)
def test_other_texts_are_walked_through(tmp_path: Path, texts: tuple[bytes, ...]) -> None:
    first, _ = parsed(written(tmp_path / "a.gguf", (TOKENS, WORDS)))

    second, n_walked = parsed(written(tmp_path / "b.gguf", (TOKENS, texts)), first)

    assert n_walked == len(texts)
    assert second.texts(TOKENS) == list(texts)


def test_list_of_another_kind_is_no_list_of_texts(tmp_path: Path) -> None:
    numbers = RawGguf(keys=(*KEYS, array_key(TOKENS, 10, 3, bytes(24)))).write(tmp_path / "a.gguf")
    first, _ = parsed(numbers)

    second, n_walked = parsed(written(tmp_path / "b.gguf", (TOKENS, (b"", b"", b""))), first)

    assert n_walked == 3
    assert second.texts(TOKENS) == [b"", b"", b""]


def test_known_texts_do_not_hide_that_a_file_is_cut(tmp_path: Path) -> None:
    first, _ = parsed(written(tmp_path / "a.gguf", (TOKENS, WORDS)))
    cut = written(tmp_path / "b.gguf", (TOKENS, WORDS))
    cut.write_bytes(cut.read_bytes()[: first.arrays[TOKENS].at + 20])

    with pytest.raises(ModelFileError, match="truncated"):
        parsed(cut, first)


@pytest.mark.parametrize("length", [2**31, 2**63, 2**64 - 1])
def test_text_of_absurd_length_is_the_files_end(tmp_path: Path, length: int) -> None:
    items = packed_text(b"a") + struct.pack("<Q", length) + b"bc"
    file = RawGguf(keys=(*KEYS, array_key(TOKENS, STRING, 3, items)))

    with pytest.raises(ModelFileError, match="truncated"):
        parsed(file.write(tmp_path / "m.gguf"))


def test_texts_over_many_windows_are_all_passed(tmp_path: Path) -> None:
    texts = tuple(bytes([97 + i % 26]) * (i * 37 % 900) for i in range(6_000))

    part, n_walked = parsed(written(tmp_path / "m.gguf", (TOKENS, texts)))

    assert n_walked == 6_000
    assert part.arrays[TOKENS].size_bytes == sum(8 + len(text) for text in texts) > 2 << 20
    assert part.texts(TOKENS) == list(texts)
