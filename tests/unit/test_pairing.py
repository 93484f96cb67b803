"""Which drafter fits which target, told from headers alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.gguf.header import GgufHeader, read_header
from edgespec.models.pairing import PairReport, check_pair
from tests.rawgguf import KEYS, STRING, RawGguf, array_key, packed_text, text_key, u32_key
from tests.tinygguf import OTHER_VOCAB, VOCAB, TinyVocab, write_gemma3, write_llama


def headers(*paths: Path) -> list[GgufHeader]:
    return [read_header(path) for path in paths]


def pair_of_vocabs(folder: Path, target: TinyVocab, draft: TinyVocab) -> PairReport:
    return check_pair(
        *headers(
            write_llama(folder / "target.gguf", vocab=target),
            write_llama(folder / "draft.gguf", vocab=draft),
        )
    )


def test_pair_of_one_vocabulary_fits(tmp_path: Path) -> None:
    target, draft = headers(
        write_gemma3(tmp_path / "target.gguf"), write_llama(tmp_path / "draft.gguf")
    )

    assert check_pair(target, draft) == PairReport(ok=True)


@pytest.mark.parametrize(("n_target", "n_draft"), [(0, 8), (8, 0), (8, 600), (600, 8)])
def test_pair_fits_whatever_the_padding(tmp_path: Path, n_target: int, n_draft: int) -> None:
    report = pair_of_vocabs(tmp_path, VOCAB.padded(n_target), VOCAB.padded(n_draft))

    assert report == PairReport(ok=True)


def test_pair_names_the_first_differing_token(tmp_path: Path) -> None:
    report = pair_of_vocabs(tmp_path, VOCAB, OTHER_VOCAB)

    token = VOCAB.id_of("x")
    assert report == PairReport(
        False,
        f"token {token} differs: 'x' in target.gguf, 'y' in draft.gguf",
        token,
        is_vocabulary=True,
    )


@pytest.mark.parametrize("longer", ["target", "draft"])
def test_pair_refuses_a_used_token_that_one_side_lacks(tmp_path: Path, longer: str) -> None:
    more = replace(VOCAB, texts=(*VOCAB.texts, "<|tool|>"), types=(*VOCAB.types, 3))
    vocabs = (more, VOCAB) if longer == "target" else (VOCAB, more)

    report = pair_of_vocabs(tmp_path, *vocabs)

    assert report.token_id == len(VOCAB)
    assert f"'<|tool|>' in {longer}.gguf, nothing in" in report.reason


def test_pair_refuses_padding_in_place_of_a_used_token(tmp_path: Path) -> None:
    more = replace(VOCAB, texts=(*VOCAB.texts, "<|tool|>"), types=(*VOCAB.types, 3))

    report = pair_of_vocabs(tmp_path, more, VOCAB.padded(1))

    assert f"token {len(VOCAB)} differs: '<|tool|>'" in report.reason


def test_pair_refuses_a_drafter_larger_than_its_target(tmp_path: Path) -> None:
    target, draft = headers(
        write_llama(tmp_path / "target.gguf", n_vocab_extra=600),
        write_gemma3(tmp_path / "draft.gguf"),
    )

    report = check_pair(target, draft)

    assert not report.ok
    sizes = [header.shape.n_params_body for header in (draft, target)]
    assert "drafter draft.gguf is larger than the target target.gguf" in report.reason
    assert "{:,} parameters against {:,}, the vocabulary's aside".format(*sizes) in report.reason


def test_model_may_draft_for_itself(tmp_path: Path) -> None:
    (header,) = headers(write_llama(tmp_path / "m.gguf"))

    assert check_pair(header, header).ok


def test_pair_refuses_when_only_one_side_puts_bos_first(tmp_path: Path) -> None:
    target, draft = headers(
        write_llama(tmp_path / "target.gguf"), write_llama(tmp_path / "draft.gguf", add_bos=False)
    )

    report = check_pair(target, draft)

    assert report.reason == (
        "a text begins with token 1 in target.gguf, with no token in draft.gguf"
    )


def test_pair_with_another_eos_fits_with_a_note(tmp_path: Path) -> None:
    target, draft = headers(
        write_llama(tmp_path / "target.gguf"), write_llama(tmp_path / "draft.gguf", eos=300)
    )

    report = check_pair(target, draft)

    assert report.ok
    assert "EOS differs (token 2, token 300)" in report.note


def byte_pair_model(path: Path, *texts: str, pre: str = "qwen2", kind: str = "gpt2") -> GgufHeader:
    items = b"".join(packed_text(text.encode()) for text in texts)
    keys = (
        text_key("tokenizer.ggml.model", kind),
        text_key("tokenizer.ggml.pre", pre),
        array_key("tokenizer.ggml.tokens", STRING, len(texts), items),
        u32_key("tokenizer.ggml.add_bos_token", 0),
    )
    return read_header(RawGguf(keys=(*KEYS, *keys)).write(path))


def test_pair_with_another_pre_tokenizer_fits_with_a_note(tmp_path: Path) -> None:
    target = byte_pair_model(tmp_path / "t.gguf", "a", "b")
    draft = byte_pair_model(tmp_path / "d.gguf", "a", "b", pre="default")

    report = check_pair(target, draft)

    assert report == PairReport(
        True, note="pre-tokenizers differ ('qwen2', 'default'); the target's counts"
    )


def test_pair_shows_byte_pair_tokens_as_text(tmp_path: Path) -> None:
    target = byte_pair_model(tmp_path / "t.gguf", "a", "ĠÃ©")
    draft = byte_pair_model(tmp_path / "d.gguf", "a", "Ċ")

    report = check_pair(target, draft)

    assert report.reason == r"token 1 differs: ' é' in t.gguf, '\n' in d.gguf"


def test_pair_refuses_tokenizers_of_different_kinds(tmp_path: Path) -> None:
    target = byte_pair_model(tmp_path / "t.gguf", "a")
    draft = byte_pair_model(tmp_path / "d.gguf", "a", kind="llama")

    assert "different kinds: 'gpt2' in t.gguf, 'llama' in d.gguf" in (
        check_pair(target, draft).reason
    )


def test_pair_refuses_a_drafter_without_vocabulary(tmp_path: Path) -> None:
    target = byte_pair_model(tmp_path / "t.gguf", "a")
    draft = read_header(RawGguf().write(tmp_path / "d.gguf"))

    assert check_pair(target, draft).reason == "d.gguf has no vocabulary of its own"
