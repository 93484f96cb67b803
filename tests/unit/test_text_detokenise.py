from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.text.detokenise import Detokeniser
from tests.unit.fake_vocab import RULE, FakeVocab

_BYTES = st.lists(st.binary(min_size=0, max_size=6), max_size=12)
_LIVELY = st.lists(st.sampled_from([*"日🦙é".encode(), 0x41, 0xC0, 0xED, 0xA0, 0xF4, 0x90, 0xFF]))


def _streamed(vocab: FakeVocab, tokens: list[int]) -> list[str]:
    characters = Detokeniser(vocab)
    return [*map(characters.feed, tokens), characters.flush()]


def test_detokeniser_waits_when_a_character_is_split_over_tokens() -> None:
    vocab = FakeVocab()
    llama = "🦙".encode()

    pieces = _streamed(vocab, vocab.ids(llama[:2], llama[2:3], llama[3:]))

    assert pieces == ["", "", "🦙", ""]


def test_detokeniser_gives_every_byte_of_a_long_piece() -> None:
    vocab = FakeVocab()

    assert _streamed(vocab, [vocab.id(RULE)]) == [RULE, ""]


def test_detokeniser_gives_one_replacement_at_the_end_when_a_character_is_cut_off() -> None:
    vocab = FakeVocab()

    assert _streamed(vocab, vocab.ids("Hello", "日".encode()[:2])) == ["Hello", "", "\ufffd"]


def test_detokeniser_keeps_the_leading_space() -> None:
    vocab = FakeVocab()

    assert _streamed(vocab, vocab.ids(" wor", "ld")) == [" wor", "ld", ""]


def test_detokeniser_is_silent_for_a_control_token_unless_asked() -> None:
    vocab = FakeVocab()
    characters = Detokeniser(vocab)
    token = vocab.id("<|im_end|>")

    assert characters.feed(token) == ""
    assert characters.feed(token, special=True) == "<|im_end|>"


def test_detokeniser_is_whole_only_between_characters() -> None:
    vocab = FakeVocab()
    characters = Detokeniser(vocab)
    seen = []

    for byte in "é!".encode():
        characters.feed(vocab.id(bytes([byte])))
        seen.append(characters.is_whole)

    assert seen == [False, True, True]


@settings(deadline=None)
@given(_BYTES)
def test_detokeniser_joined_is_one_decoding_of_all_bytes(pieces: list[bytes]) -> None:
    vocab = FakeVocab(pieces=list(dict.fromkeys(pieces)))
    tokens = [vocab.id(piece) for piece in pieces]

    joined = "".join(_streamed(vocab, tokens))

    assert joined == b"".join(pieces).decode(errors="replace")


@settings(deadline=None)
@given(_LIVELY)
def test_detokeniser_joined_is_one_decoding_when_bytes_are_almost_utf8(data: list[int]) -> None:
    vocab = FakeVocab()

    joined = "".join(_streamed(vocab, [vocab.id(bytes([byte])) for byte in data]))

    assert joined == bytes(data).decode(errors="replace")
