"""What two vocabularies share, by their headers; the same as llama.cpp's pieces say."""

import struct
from pathlib import Path

import pytest

from edgespec.api.files import find_files
from edgespec.engine.tokenizer import Tokenizer
from edgespec.errors import IncompatibleDraft
from edgespec.gguf.header import read_header
from edgespec.gguf.vocab import TokenList
from edgespec.models.calibration import texts
from edgespec.models.intersection import Shared, shared_pieces
from tests import tinygguf
from tests.rawgguf import KEYS, STRING, RawGguf, array_key, packed_text, text_key, u32_key
from tests.tinygguf import FOREIGN_VOCAB, OTHER_VOCAB, VOCAB

_I32 = 5
"""GGUF's number for 32-bit integers."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("vocabularies")
    tinygguf.write_llama(made / "target.gguf")
    tinygguf.write_llama(made / "foreign.gguf", vocab=FOREIGN_VOCAB)
    tinygguf.write_llama(made / "padded.gguf", vocab=FOREIGN_VOCAB, n_vocab_extra=9)
    return made


def shared(folder: Path, draft: str) -> Shared:
    files = (read_header(folder / name) for name in ("target.gguf", draft))
    target, other = files
    return shared_pieces(target.tokens, other.tokens)


@pytest.mark.parametrize("draft", ["foreign.gguf", "padded.gguf"])
def test_pairs_have_equal_bytes_by_llama_cpp(folder: Path, draft: str) -> None:
    found = shared(folder, draft)

    with Tokenizer(folder / "target.gguf") as mine, Tokenizer(folder / draft) as theirs:
        for a, b in zip(found.target_ids.tolist(), found.draft_ids.tolist(), strict=True):
            assert mine.vocab.piece(a, special=True) == theirs.vocab.piece(b, special=True)


def test_every_token_that_both_have_is_paired_once(folder: Path) -> None:
    found = shared(folder, "foreign.gguf")

    lacking = {VOCAB.texts[i] for i in set(range(len(VOCAB))) - set(found.target_ids.tolist())}
    pieces = {VOCAB.texts[i] for i in found.target_ids.tolist()}
    # A byte that is also a piece is one meaning: texts are cut into the piece.
    assert {"th", "▁and", "<unk>", "<0x41>"} <= lacking
    assert {"A", "the", "▁the", "<0xC3>", "<|im_end|>", "</s>"} <= pieces
    assert len(set(found.draft_ids.tolist())) == found.size


def test_padding_is_not_shared(folder: Path) -> None:
    assert shared(folder, "padded.gguf").draft_ids.max() < len(FOREIGN_VOCAB)


def ending(path: Path, *texts: str, eos: int, eot: int | None = None) -> TokenList:
    """A byte-pair vocabulary whose texts in angle brackets are control tokens."""
    items = b"".join(packed_text(text.encode()) for text in texts)
    types = (tinygguf.CONTROL if text.startswith("<") else tinygguf.NORMAL for text in texts)
    keys = [
        text_key("tokenizer.ggml.model", "gpt2"),
        array_key("tokenizer.ggml.tokens", STRING, len(texts), items),
        array_key("tokenizer.ggml.token_type", _I32, len(texts), struct.pack("<3i", *types)),
        u32_key("tokenizer.ggml.eos_token_id", eos),
    ]
    if eot is not None:
        keys.append(u32_key("tokenizer.ggml.eot_token_id", eot))
    return read_header(RawGguf(keys=(*KEYS, *keys)).write(path)).tokens


def pairs_of(target: TokenList, draft: TokenList) -> dict[int, int]:
    found = shared_pieces(target, draft)
    return dict(zip(found.target_ids.tolist(), found.draft_ids.tolist(), strict=True))


def test_ends_are_paired_by_their_role_where_their_texts_differ(tmp_path: Path) -> None:
    target = ending(tmp_path / "t.gguf", "a", "<end>", "<turn>", eos=1, eot=2)
    draft = ending(tmp_path / "d.gguf", "<over>", "b", "a", eos=0)

    assert pairs_of(target, draft) == {0: 2, 1: 0, 2: 0}


def test_ends_are_paired_by_their_text_first(tmp_path: Path) -> None:
    target = ending(tmp_path / "t.gguf", "a", "<end>", "<over>", eos=1)
    draft = ending(tmp_path / "d.gguf", "<over>", "<end>", "a", eos=0)

    assert pairs_of(target, draft) == {0: 2, 1: 1, 2: 0}


def test_control_token_is_no_text(tmp_path: Path) -> None:
    target = ending(tmp_path / "t.gguf", "a", "<b>", "<end>", eos=2)
    draft = ending(tmp_path / "d.gguf", "a", "\u2039b\u203a", "<end>", eos=2)

    assert pairs_of(target, draft) == {0: 0, 2: 2}


def test_coverage_counts_tokens_with_a_counterpart(folder: Path) -> None:
    found = shared(folder, "foreign.gguf")

    tokens = [VOCAB.id_of(text) for text in ("the", "th", "A", "▁and")]

    assert found.coverage(tokens) == 0.5
    assert found.coverage([]) == 0.0


def test_spellings_of_bytes_are_undone_across_tokenizers(folder: Path) -> None:
    """Byte-pair texts beside SentencePiece's: "Ġthe" is " the", and "é" is two letters."""
    letters = ("Ġthe", "the", "Ċ", "Ã", "Ã©", "é", "ł")
    items = b"".join(packed_text(text.encode()) for text in letters)
    keys = (
        text_key("tokenizer.ggml.model", "gpt2"),
        array_key("tokenizer.ggml.tokens", STRING, len(letters), items),
    )
    target = read_header(RawGguf(keys=(*KEYS, *keys)).write(folder / "pairs.gguf"))

    found = shared_pieces(target.tokens, read_header(folder / "foreign.gguf").tokens)

    pairs = dict(zip(found.target_ids.tolist(), found.draft_ids.tolist(), strict=True))
    texts_of = {letters[a]: FOREIGN_VOCAB.texts[b] for a, b in pairs.items()}
    assert texts_of == {
        "Ġthe": "▁the",
        "the": "the",
        "Ċ": "<0x0A>",
        "Ã": "<0xC3>",
        "é": "<0xE9>",
        "ł": "<0xA0>",
    }


def test_calibration_texts_are_of_all_kinds_of_work() -> None:
    assert len(texts()) == 10
    assert all(len(text) > 50 for text in texts().values())


def test_another_vocabulary_is_refused_and_the_flag_is_told(folder: Path) -> None:
    with pytest.raises(IncompatibleDraft, match=r"token \d+ differs") as error:
        find_files(folder / "target.gguf", folder / "foreign.gguf", "auto")

    assert "--draft-vocab intersect" in error.value.hint


def test_intersection_is_told_in_numbers(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = find_files(folder / "target.gguf", folder / "foreign.gguf", "auto", "intersect")

    assert files.intersection is not None
    told = files.intersection.told
    assert f"share {files.intersection.shared.size:,} of {len(VOCAB):,} tokens" in told
    assert "% of calibration texts" in told
    assert [record.message for record in caplog.records] == [told]


def test_same_vocabularies_need_no_intersection(folder: Path) -> None:
    target = folder / "target.gguf"

    assert find_files(target, target, "auto", "intersect").intersection is None


def poor_draft(folder: Path) -> Path:
    """Without the letters from a to p, spelled or as bytes."""
    letters = range(ord("a"), ord("q"))
    lost = {*map(chr, letters), *(f"<0x{letter:02X}>" for letter in letters)}
    types = (
        tinygguf.UNUSED if text in lost else kind
        for text, kind in zip(VOCAB.texts, VOCAB.types, strict=True)
    )
    few = tinygguf.TinyVocab(VOCAB.texts, tuple(types))
    return tinygguf.write_llama(folder / "poor.gguf", vocab=few.swapped(290, 291))


def test_too_small_an_intersection_is_refused_in_numbers(folder: Path) -> None:
    poor = poor_draft(folder)

    with pytest.raises(IncompatibleDraft, match=r"cover \d\d% of .* 90% are needed") as error:
        find_files(folder / "target.gguf", poor, "auto", "intersect")

    assert "of the target's family" in error.value.hint


@pytest.mark.parametrize(("n_lost", "is_refused"), [(1, False), (2, True)])
def test_each_kind_of_text_weighs_the_same_however_long_it_is(
    n_lost: int, is_refused: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, lost = "zxz", "abcd" * 200
    found = {f"kind {i}": lost if i < n_lost else shared for i in range(11)}
    monkeypatch.setattr("edgespec.api.intersect.texts", lambda: found)
    told = ""

    try:
        files = find_files(folder / "target.gguf", poor_draft(folder), "auto", "intersect")
        told = files.intersection.told if files.intersection else ""
    except IncompatibleDraft as refused:
        told = refused.message

    assert f"cover {(11 - n_lost) / 11:.0%} of calibration texts (0% for kind 0)" in told
    assert ("too few to draft through" in told) == is_refused


def test_larger_draft_is_refused_whatever_its_vocabulary(folder: Path) -> None:
    big = tinygguf.write_gemma3(folder / "big.gguf", vocab=OTHER_VOCAB)

    with pytest.raises(IncompatibleDraft, match="larger than the target") as error:
        find_files(folder / "target.gguf", big, "auto", "intersect")

    assert "intersect" not in error.value.hint
