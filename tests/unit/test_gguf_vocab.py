"""Token lists from headers: padding, BOS, and what would abort llama.cpp."""

from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.errors import ModelFileError
from edgespec.gguf.header import read_header
from tests.rawgguf import (
    KEYS,
    STRING,
    U32,
    RawGguf,
    array_key,
    flag_key,
    packed_text,
    text_key,
    u32_key,
)
from tests.tinygguf import BOS, VOCAB, write_llama


def vocab_keys(kind: str, *more: bytes, n: int = 200) -> tuple[bytes, ...]:
    texts = b"".join(packed_text(b"t%d" % i) for i in range(n))
    tokens = array_key("tokenizer.ggml.tokens", STRING, n, texts)
    return (*KEYS, text_key("tokenizer.ggml.model", kind), tokens, *more)


@pytest.mark.parametrize(
    ("keys", "bos"),
    [
        (vocab_keys("llama"), 1),
        (vocab_keys("gpt2"), None),
        (vocab_keys("gpt2", text_key("tokenizer.ggml.pre", "llama-bpe")), 11),
        (vocab_keys("gpt2", u32_key("tokenizer.ggml.add_bos_token", 1)), 11),
        (vocab_keys("llama", u32_key("tokenizer.ggml.add_bos_token", 0)), None),
        (vocab_keys("llama", u32_key("tokenizer.ggml.bos_token_id", 5)), 5),
        (vocab_keys("llama", u32_key("tokenizer.ggml.bos_token_id", 200)), 1),
    ],
)
def test_bos_is_explicit_else_the_familys_habit(
    tmp_path: Path, keys: tuple[bytes, ...], bos: int | None
) -> None:
    header = read_header(RawGguf(keys=keys).write(tmp_path / "m.gguf"))

    assert header.tokens.bos == bos


def test_tokens_are_read_in_order(tmp_path: Path) -> None:
    tokens = read_header(write_llama(tmp_path / "m.gguf")).tokens

    assert [text.decode() for text in tokens.texts()] == list(VOCAB.texts)
    assert (tokens.kind, len(tokens), tokens.bos) == ("llama", len(VOCAB), BOS)


def test_padding_is_told_by_type_or_by_name(tmp_path: Path) -> None:
    used = VOCAB.padded(3)
    real = replace(used, texts=(*used.texts, "real"), types=(*used.types, 1))
    by_name = replace(used, types=(*VOCAB.types, 1, 1, 1))
    cases = ((used, None), (real, len(VOCAB) + 3), (by_name, None))

    for vocab, first in cases:
        tokens = read_header(write_llama(tmp_path / "m.gguf", vocab=vocab)).tokens

        assert tokens.first_used(tokens.texts(), len(VOCAB)) == first


def test_check_takes_a_sound_vocabulary(tmp_path: Path) -> None:
    empty_twice = replace(VOCAB, texts=(*VOCAB.texts, "", ""), types=(*VOCAB.types, 5, 5))

    read_header(write_llama(tmp_path / "a.gguf")).tokens.check()
    read_header(write_llama(tmp_path / "b.gguf", vocab=empty_twice)).tokens.check()


@pytest.mark.parametrize("text", ["x", "x\0y"])
def test_check_refuses_a_repeated_token(tmp_path: Path, text: str) -> None:
    twice = replace(VOCAB, texts=(*VOCAB.texts[:-1], text))
    header = read_header(write_llama(tmp_path / "m.gguf", vocab=twice))

    with pytest.raises(ModelFileError, match=r"token 367 repeats the text 'x'"):
        header.tokens.check()


def refusal_of(path: Path, *keys: bytes, kind: str = "gpt2") -> str:
    header = read_header(RawGguf(keys=vocab_keys(kind, *keys)).write(path))
    with pytest.raises(ModelFileError) as caught:
        header.tokens.check()
    return caught.value.message


def test_check_refuses_a_file_without_a_vocabulary(tmp_path: Path) -> None:
    header = read_header(RawGguf().write(tmp_path / "m.gguf"))

    with pytest.raises(ModelFileError, match="has no vocabulary"):
        header.tokens.check()


def test_check_refuses_a_vocabulary_of_numbers(tmp_path: Path) -> None:
    keys = (*KEYS, text_key("tokenizer.ggml.model", "gpt2"),
            array_key("tokenizer.ggml.tokens", U32, 2, bytes(8)))  # fmt: skip
    header = read_header(RawGguf(keys=keys).write(tmp_path / "m.gguf"))

    with pytest.raises(ModelFileError, match="has no vocabulary"):
        header.tokens.check()


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("none", "has no vocabulary"),
        ("t5", "has a T5 tokenizer, made for models that read and do not write"),
        ("bert", "has a BERT tokenizer, made for models that read and do not write"),
        ("test", "the tokenizer 'test', which this llama.cpp does not know"),
    ],
)
def test_check_refuses_the_tokenizer(tmp_path: Path, kind: str, says: str) -> None:
    assert says in refusal_of(tmp_path / "m.gguf", kind=kind)


def test_check_refuses_more_tokens_than_any_vocabulary_has(tmp_path: Path) -> None:
    n = 300_001
    tokens = array_key("tokenizer.ggml.tokens", STRING, n, bytes(8 * n))
    keys = (*KEYS, text_key("tokenizer.ggml.model", "gpt2"), tokens)
    header = read_header(RawGguf(keys=keys).write(tmp_path / "m.gguf"))

    with pytest.raises(ModelFileError, match="300,001 tokens, at most 300,000 are read"):
        header.tokens.check()


@pytest.mark.parametrize("lacks", ["<0x00>", "<0x0A>", "<0xFF>"])
def test_check_refuses_a_vocabulary_that_lacks_a_byte(tmp_path: Path, lacks: str) -> None:
    texts = tuple("other" if text == lacks else text for text in VOCAB.texts)
    header = read_header(write_llama(tmp_path / "m.gguf", vocab=replace(VOCAB, texts=texts)))

    with pytest.raises(ModelFileError, match=f"no token for the byte 0x{lacks[3:5]}"):
        header.tokens.check()


def rwkv_bytes() -> list[bytes]:
    special = {9: b"\\t", 10: b"\\n", 13: b"\\r", 92: b"\\\\"}
    return [special.get(b, bytes([b]) if 32 <= b < 127 else b"\\x%02x" % b) for b in range(256)]


@pytest.mark.parametrize("lacks", [None, 0, 10, 65, 255])
def test_check_holds_rwkv_texts_to_all_bytes(tmp_path: Path, lacks: int | None) -> None:
    texts = [b"<s>", *rwkv_bytes(), b"the", b"\\x41\\x42"]
    if lacks is not None:
        texts[1 + lacks] = b"other"
    items = b"".join(packed_text(text) for text in texts)
    keys = (text_key("tokenizer.ggml.model", "rwkv"),
            array_key("tokenizer.ggml.tokens", STRING, len(texts), items))  # fmt: skip
    tokens = read_header(RawGguf(keys=(*KEYS, *keys)).write(tmp_path / "m.gguf")).tokens

    if lacks is None:
        tokens.check()
    else:
        with pytest.raises(ModelFileError, match=f"no token for the byte 0x{lacks:02X}"):
            tokens.check()


def test_check_takes_a_byte_that_is_a_character_of_its_own(tmp_path: Path) -> None:
    texts = tuple("other" if text == "<0x41>" else text for text in VOCAB.texts)

    header = read_header(write_llama(tmp_path / "m.gguf", vocab=replace(VOCAB, texts=texts)))

    header.tokens.check()


@pytest.mark.parametrize(("which", "name"), [("bos", "BOS"), ("eos", "EOS")])
def test_check_refuses_an_end_that_does_not_exist(tmp_path: Path, which: str, name: str) -> None:
    adds = flag_key(f"tokenizer.ggml.add_{which}_token", True)

    message = refusal_of(tmp_path / "m.gguf", adds, kind="whitespace")

    assert f"shall put {name} around every text" in message


def test_check_refuses_lists_of_different_length(tmp_path: Path) -> None:
    short = array_key("tokenizer.ggml.scores", 6, 1, bytes(4))
    header = read_header(RawGguf(keys=vocab_keys("llama", short)).write(tmp_path / "m.gguf"))

    with pytest.raises(ModelFileError, match="1 items for 200 tokens"):
        header.tokens.check()
