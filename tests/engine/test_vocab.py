"""The tokenizer over llama.cpp: bytes of any length, control tokens, ends of generation."""

from pathlib import Path

import pytest

from edgespec.engine.model import Model
from edgespec.engine.vocab import LlamaVocab
from tests import tinygguf
from tests.engine.conftest import TinyModels
from tests.round_trips import TEXTS
from tests.tinygguf import BOS, EOS, FIRST_BYTE, IM_END, IM_START, VOCAB


@pytest.fixture
def vocab(tiny: TinyModels) -> LlamaVocab:
    return tiny["llama"].vocab


def test_vocab_knows_its_size_and_its_bos(vocab: LlamaVocab) -> None:
    assert (vocab.n_tokens, vocab.bos, vocab.eos, vocab.add_bos) == (len(VOCAB), BOS, EOS, True)


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_of_tokens_are_the_bytes_of_the_text(vocab: LlamaVocab, text: str) -> None:
    tokens = vocab.tokenize(text, parse_special=False)

    assert b"".join(vocab.piece(token) for token in tokens) == text.encode()


@pytest.mark.parametrize("text", TEXTS)
def test_continuation_keeps_what_it_begins_with(vocab: LlamaVocab, text: str) -> None:
    """A space before an answer's first word is the model's own."""
    before = vocab.tokenize("Say it:", parse_special=False, add_special=True)
    answer = vocab.tokenize(text, parse_special=False)

    assert b"".join(map(vocab.piece, [*before, *answer])) == b"Say it:" + text.encode()


def test_piece_of_a_control_token_is_empty_unless_asked_for(vocab: LlamaVocab) -> None:
    assert vocab.piece(IM_START) == b""
    assert vocab.piece(IM_START, special=True) == b"<|im_start|>"
    assert vocab.piece(FIRST_BYTE + 0xFF) == b"\xff"


def test_piece_may_be_longer_than_any_buffer(tmp_path: Path) -> None:
    long = "ab" * 300
    texts = tuple(long if text == "x" else text for text in VOCAB.texts)
    words = tinygguf.TinyVocab(texts, VOCAB.types)
    model = Model(tinygguf.write_llama(tmp_path / "long.gguf", vocab=words))

    piece = model.vocab.piece(words.id_of(long))

    model.close()
    assert piece == long.encode()


def test_piece_outside_the_vocabulary_is_our_fault(vocab: LlamaVocab) -> None:
    for token in (-1, len(VOCAB)):
        with pytest.raises(AssertionError):
            vocab.piece(token)


def test_tokenize_reads_control_tokens_only_when_told(vocab: LlamaVocab) -> None:
    text = "<|im_end|>"

    assert vocab.tokenize(text, parse_special=True) == [IM_END]
    assert IM_END not in vocab.tokenize(text, parse_special=False)


def test_tokenize_adds_one_bos_when_told(vocab: LlamaVocab) -> None:
    plain = vocab.tokenize("the", parse_special=False)

    assert vocab.tokenize("the", parse_special=False, add_special=True) == [BOS, *plain]


def test_tokenize_takes_texts_of_any_length(vocab: LlamaVocab) -> None:
    text = "日本" * 5_000

    tokens = vocab.tokenize(text, parse_special=False)

    assert b"".join(map(vocab.piece, tokens)) == text.encode()


def test_end_of_generation_is_the_files_end_and_the_usual_names(vocab: LlamaVocab) -> None:
    ends = [token for token in range(vocab.n_tokens) if vocab.is_eog(token)]

    assert ends == [EOS, IM_END]


def test_end_of_generation_may_be_any_token(tmp_path: Path) -> None:
    model = Model(tinygguf.write_llama(tmp_path / "m.gguf", eos=VOCAB.id_of("the")))

    is_end = model.vocab.is_eog(VOCAB.id_of("the"))

    model.close()
    assert is_end


def test_control_texts_are_longest_first(vocab: LlamaVocab) -> None:
    texts = vocab.control_texts()

    assert texts[:2] == ("<|im_start|>", "<|im_end|>")
    assert {"</s>", "<s>"} < set(texts)
    assert "the" not in texts
