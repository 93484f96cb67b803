"""What two vocabularies share, by their headers; the same as llama.cpp's pieces say."""

from pathlib import Path

import pytest

from edgespec.api.files import find_files
from edgespec.engine.tokenizer import Tokenizer
from edgespec.errors import IncompatibleDraft
from edgespec.gguf.header import read_header
from edgespec.models.calibration import texts
from edgespec.models.intersection import Shared, shared_pieces
from tests import tinygguf
from tests.rawgguf import KEYS, STRING, RawGguf, array_key, packed_text, text_key
from tests.tinygguf import FOREIGN_VOCAB, OTHER_VOCAB, VOCAB


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


def test_ends_are_paired_by_their_role_where_their_texts_differ(folder: Path) -> None:
    ended = tinygguf.write_llama(folder / "ended.gguf", eos=VOCAB.id_of("z"))
    target, draft = read_header(ended), read_header(folder / "foreign.gguf")

    found = shared_pieces(draft.tokens, target.tokens)

    pairs = dict(zip(found.target_ids.tolist(), found.draft_ids.tolist(), strict=True))
    assert pairs[tinygguf.EOS] == tinygguf.EOS  # they have the same text: that goes first


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


def test_too_small_an_intersection_is_refused_in_numbers(folder: Path) -> None:
    letters = range(ord("a"), ord("q"))
    lost = {*map(chr, letters), *(f"<0x{letter:02X}>" for letter in letters)}
    types = (
        tinygguf.UNUSED if text in lost else kind
        for text, kind in zip(VOCAB.texts, VOCAB.types, strict=True)
    )
    few = tinygguf.TinyVocab(VOCAB.texts, tuple(types))
    poor = tinygguf.write_llama(folder / "poor.gguf", vocab=few.swapped(290, 291))

    with pytest.raises(IncompatibleDraft, match=r"cover \d\d% of .* 90% are needed") as error:
        find_files(folder / "target.gguf", poor, "auto", "intersect")

    assert "of the target's family" in error.value.hint


def test_larger_draft_is_refused_whatever_its_vocabulary(folder: Path) -> None:
    big = tinygguf.write_gemma3(folder / "big.gguf", vocab=OTHER_VOCAB)

    with pytest.raises(IncompatibleDraft, match="larger than the target") as error:
        find_files(folder / "target.gguf", big, "auto", "intersect")

    assert "intersect" not in error.value.hint
